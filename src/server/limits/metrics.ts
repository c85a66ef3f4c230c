import type { IncomingMessage, ServerResponse } from "node:http";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

const STREAMS: readonly string[] = ["/v1/workspaces/:id/events", "/v1/workspaces/:id/head-changes"];

/** The sources of the metrics. A source is read only when the metrics are requested. */
export interface MetricSources {
  readonly openWorkspaces: () => number;
  readonly gateway: () => { readonly connections: number; readonly subscriptions: number };
  /** `lag` is the largest number of events that any replica has not acknowledged. */
  readonly replicas: () => Promise<{ readonly replicas: number; readonly lag: number }>;
  /** Returns the number of commits and the number of events that this process has recorded since it began. */
  readonly recorded: () => { readonly commits: number; readonly events: number };
  /** The number of lines about errors that this process has added to the diagnostics. */
  readonly errors: () => number;
  /** Measures the size of the store, in bytes. */
  readonly storedBytes: () => Promise<number>;
}

/**
 * The upper bounds of the histogram's buckets, in seconds. They range from the time for a small file to a time longer
 * than users wait.
 */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/**
 * The minimum time between two measurements of the store, in milliseconds. A measurement reads the sizes of all files
 * of the store.
 */
const MEASURE_MS = 60_000;

/** The server's metrics, in the text format of Prometheus. No label has text from a client. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #sources: MetricSources;
  #stored: { readonly at: number; readonly bytes: Promise<number> } | undefined;

  constructor(tally: RequestTally, sources: MetricSources) {
    this.#sources = sources;
    collectDefaultMetrics({ register: this.#registry });
    this.#countRequests(tally);
    this.#gauge("open_requests", "requests in progress", () => tally.open());
    this.#gauge("event_streams", "streams of events over HTTP", () =>
      STREAMS.reduce((sum, route) => sum + tally.open(route), 0),
    );
    this.#gauge("gateway_connections", "connections of gateways", () => sources.gateway().connections);
    this.#gauge("gateway_subscriptions", "subscriptions of gateways", () => sources.gateway().subscriptions);
    this.#gauge("replicas", "replicas that are connected", async () => (await sources.replicas()).replicas);
    this.#gauge(
      "replica_lag_events",
      "events that the replica furthest behind has not acknowledged",
      async () => (await sources.replicas()).lag,
    );
    this.#gauge("open_workspaces", "workspaces that are open", sources.openWorkspaces);
    this.#gauge("stored_bytes", "bytes that the store takes, as of a minute ago", () => this.#storedBytes());
    this.#total("commits_total", "commits that this process has made", () => sources.recorded().commits);
    this.#total("events_total", "events that this process has recorded", () => sources.recorded().events);
    this.#total(
      "errors_total",
      "lines that were added to the diagnostics, except those about refused agents",
      sources.errors,
    );
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #countRequests(tally: RequestTally): void {
    const registers = [this.#registry];
    const requests = new Counter({
      ...{ name: "chronicle_requests_total", help: "requests that were answered", registers },
      labelNames: ["method", "route", "status"],
    });
    const durations = new Histogram({
      ...{
        name: "chronicle_request_duration_seconds",
        help: "how long answers took, except streams of events",
        registers,
      },
      ...{ labelNames: ["method", "route"], buckets: BUCKETS },
    });
    tally.onEnd = ({ method, route, status, seconds }) => {
      requests.inc({ method, route, status });
      if (!STREAMS.includes(route)) durations.observe({ method, route }, seconds);
    };
  }

  #gauge(name: string, help: string, now: () => number | Promise<number>): void {
    const gauge: Gauge = new Gauge({
      ...{ name: `chronicle_${name}`, help, registers: [this.#registry] },
      collect: async (): Promise<void> => gauge.set(await now()),
    });
  }

  #total(name: string, help: string, now: () => number): void {
    const counter = new Counter({
      ...{ name: `chronicle_${name}`, help, registers: [this.#registry] },
      collect: (): void => {
        counter.reset();
        counter.inc(now());
      },
    });
  }

  #storedBytes(): Promise<number> {
    const at = performance.now();
    if (this.#stored === undefined || at - this.#stored.at > MEASURE_MS) {
      const bytes = this.#sources.storedBytes().catch(() => Number.NaN);
      this.#stored = { at, bytes };
    }
    return this.#stored.bytes;
  }
}

/** A request that was answered, or whose client left. */
interface EndedRequest {
  readonly method: string;
  /** The pattern of the route, or `none`. It is never text from a client. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

interface OpenRequest {
  /** The time at which the request began, from `performance.now()`. */
  readonly began: number;
  route: string;
}

const METHODS = new Set(["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"]);

/** Knows the open requests with their routes, and passes each ended request to `onEnd`. */
export class RequestTally {
  readonly #open = new Map<IncomingMessage, OpenRequest>();
  onEnd: ((ended: EndedRequest) => void) | undefined;

  /** Adds an open request, and removes it when it ends. */
  enter(request: IncomingMessage, response: ServerResponse): void {
    const open: OpenRequest = { began: performance.now(), route: "none" };
    this.#open.set(request, open);
    response.once("close", () => {
      this.#open.delete(request);
      const { method = "" } = request;
      const seconds = (performance.now() - open.began) / 1000;
      const known = METHODS.has(method) ? method : "other";
      this.onEnd?.({ method: known, route: open.route, status: response.statusCode, seconds });
    });
  }

  /** Sets the route of an open request. Until then, the route is `none`. */
  name(request: IncomingMessage, route: string): void {
    const open = this.#open.get(request);
    if (open !== undefined) open.route = route;
  }

  /** Returns the number of open requests of a route, or of all routes. */
  open(route?: string): number {
    if (route === undefined) return this.#open.size;
    let count = 0;
    for (const one of this.#open.values()) if (one.route === route) count += 1;
    return count;
  }
}
