/** Rows of the catalog as the page shows them. catalog/schema has every field with its unit and meaning. */

export interface Source {
  id: string;
  title: string;
  locator: string;
  read: string;
  grade: "A" | "B" | "C" | "D";
}

/** What every row has that says where its numbers come from. */
export interface Sourced {
  sources: Record<string, string[]>;
  derived?: string[];
  unconfirmed?: string[];
}

export interface GpuRow extends Sourced {
  id: string;
  name: string;
  aliases?: string[];
  vendor: string;
  memory_GiB: number;
  memory_type?: string;
  memory_usable_MiB?: number;
  memory_usable_ecc_on_MiB?: number;
  memory_usable_ecc_off_MiB?: number;
  memory_bandwidth_GBps: number;
  dense_TFLOPS: Record<string, number>;
  fp16_accumulate_TFLOPS?: number;
  dense_int8_TOPS?: number;
  measured_TFLOPS?: Record<string, number>;
  supports: string[];
  link: string;
  link_topology?: string;
  link_gpus?: number;
  link_GBps?: number;
  host_link_GBps?: number;
  pcie_gen?: number;
  pcie_lanes?: number;
  tdp_W?: number;
  form?: string;
  ecc?: string;
  compute_capability?: string;
  partitions?: number;
  devices_per_board?: number;
  release?: string;
  note?: string;
}

export interface ModelRow extends Sourced {
  id: string;
  name: string;
  hf_id: string;
  family: string;
  organisation: string;
  licence?: string;
  release?: string;
  good_for?: string[];
  parameters: number;
  hub_total?: number;
  adjustments?: { what: string; count: number }[];
  printed_total?: number;
  confidence: "A" | "B" | "C" | "D";
  note?: string;
}

export interface ServerRow extends Sourced {
  id: string;
  name: string;
  maker: string;
  kind: string;
  generation?: string;
  gpus: string[];
  gpus_unconfirmed?: string[];
  gpus_max: number;
  mount: string;
  link?: string;
  link_gpus?: number;
  pcie_gen?: number;
  pcie_topology?: string;
  sockets?: number;
  cpu?: string;
  dimm_slots?: number;
  memory_max_GB?: number;
  memory_type?: string;
  nic_count?: number;
  nic_Gbps?: number;
  network?: string;
  pcie_slots?: string;
  storage?: string;
  psu_count?: number;
  psu_W?: number;
  psu_redundancy?: string;
  psu_efficiency?: string;
  power_W?: number;
  cooling?: string;
  cooling_note?: string;
  form?: string;
  height_U?: number;
  weight_kg?: number;
  tested?: string;
  note?: string;
}

/** What every price has. `sources` is empty for a vendor's own. */
export interface Offer {
  currency: Currency;
  date: string;
  confidence?: "low";
  note?: string;
  sources: string[];
}

export type Currency = "USD" | "EUR";

export interface Rented extends Offer {
  provider: string;
  instance?: string;
  gpu: string;
  gpus: number;
  per_gpu_hour: number;
  term: string;
  covers: "machine" | "gpu";
  region?: string;
}

export interface Bought extends Offer {
  gpu: string;
  low: number;
  high: number;
  kind: string;
}

export interface BoughtServer extends Offer {
  what: string;
  server?: string;
  gpu?: string;
  gpus?: number;
  low: number;
  high: number;
  kind: string;
}

export interface Service extends Offer {
  provider: string;
  method: string;
  models: string;
  low: number;
  high: number;
}

export interface Default {
  id: string;
  low: number;
  expected: number;
  high: number;
  unit: string;
  date: string;
  confidence?: "low";
  note?: string;
  sources: string[];
}

/** A vendor's own prices lack what makes an offer comparable: they are taken as they are. */
type Own<Row> = Omit<Row, "kind" | "sources" | "confidence">;

export interface Market {
  servers: ServerRow[];
  prices: { rented: Rented[]; gpus: Bought[]; servers: BoughtServer[]; services: Service[]; defaults: Default[] };
  vendor: {
    name: string;
    currency: Currency;
    servers?: string[];
    providers?: string[];
    prices: {
      gpus: Own<Bought>[];
      servers: (Own<Omit<BoughtServer, "what">> & { server: string })[];
      electricity_EUR_per_kWh?: number;
    };
  };
}

/** The part of a vendor that the page needs before anything is loaded (web/vendor_plugin.js). */
export interface PageVendor {
  name: string;
  url?: string;
  /** A file beside the script, or a data: address in the offline file. */
  logo?: string;
  contact?: { name?: string; email?: string; phone?: string; url?: string };
  languages: ("en" | "nl")[];
  currency: Currency;
  /** In the languages of the page at least. */
  legal?: { nl?: string; en?: string };
}
