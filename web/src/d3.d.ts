// The few d3 functions that the page uses; the packages bring no types.

declare module "d3-shape" {
  export interface Area<T> {
    (data: T[]): string | null;
    x(accessor: (datum: T, index: number) => number): Area<T>;
    y0(accessor: number | ((datum: T) => number)): Area<T>;
    y1(accessor: (datum: T) => number): Area<T>;
  }
  export function area<T>(): Area<T>;
  export interface Line<T> {
    (data: T[]): string | null;
    x(accessor: (datum: T, index: number) => number): Line<T>;
    y(accessor: (datum: T) => number): Line<T>;
  }
  export function line<T>(): Line<T>;
}

declare module "d3-array" {
  export function groups<T, K>(values: Iterable<T>, key: (datum: T) => K): [K, T[]][];
  export function ticks(start: number, stop: number, count: number): number[];
}
