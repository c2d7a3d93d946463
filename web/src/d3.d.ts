// The few d3 functions that the page uses; the packages bring no types.

declare module "d3-scale" {
  export interface LinearScale {
    (value: number): number;
    domain(domain: [number, number]): LinearScale;
    range(range: [number, number]): LinearScale;
    ticks(count?: number): number[];
  }
  export function scaleLinear(): LinearScale;
}

declare module "d3-shape" {
  export type Curve = object;
  export const curveLinear: Curve;
  export interface Area<T> {
    (data: T[]): string | null;
    x(accessor: (datum: T, index: number) => number): Area<T>;
    y0(accessor: number | ((datum: T) => number)): Area<T>;
    y1(accessor: (datum: T) => number): Area<T>;
    curve(curve: Curve): Area<T>;
  }
  export function area<T>(): Area<T>;
  export interface Line<T> {
    (data: T[]): string | null;
    x(accessor: (datum: T, index: number) => number): Line<T>;
    y(accessor: (datum: T) => number): Line<T>;
    curve(curve: Curve): Line<T>;
  }
  export function line<T>(): Line<T>;
}

declare module "d3-array" {
  export function max<T>(values: Iterable<T>, accessor: (datum: T) => number): number | undefined;
  export function cumsum<T>(values: Iterable<T>, accessor: (datum: T) => number): Float64Array;
  export function groups<T, K>(values: Iterable<T>, key: (datum: T) => K): [K, T[]][];
}
