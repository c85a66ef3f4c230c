import type { Role } from "../../api/routes/role.ts";
import type { Rate } from "./rate-limiter.ts";

/** Limits on the number of requests in progress, each as a share (0 to 1) of `connections`. */
export interface Share {
  /** The share of one token. */
  readonly token: number;
  /** The share of all tokens of a role together. */
  readonly role: number;
}

/** The limits that a server sets for its callers. */
export interface ServerLimits {
  /** The maximum time from the first byte of a request to the end of its headers, in milliseconds. */
  readonly headersMs: number;
  /** The maximum time in which a JSON body must arrive, in milliseconds. */
  readonly bodyMs: number;
  /** The minimum number of bytes of an upload that must arrive in each period of `slowMs`. */
  readonly slowBytes: number;
  /**
   * The time within which `slowBytes` of an upload must arrive, and within which a client must read what it was sent,
   * in milliseconds.
   */
  readonly slowMs: number;
  /** The maximum time for which a connection may be idle between two requests, in milliseconds. */
  readonly keepAliveMs: number;
  /** The maximum size of a request's line and headers, in bytes. */
  readonly headerBytes: number;
  /** The maximum size of a JSON body, in bytes. */
  readonly jsonBytes: number;
  /** The maximum size of an upload, in bytes. The limits of the workspace apply as well. */
  readonly uploadBytes: number;
  /** The maximum number of connections of each port or socket. */
  readonly connections: number;
  /**
   * The maximum number of requests in progress, by role and in total (`all`), as shares of `connections`. The owner's
   * socket has no such limit.
   */
  readonly atOnce: Readonly<Record<Role, Share>> & { readonly all: number };
  /** The number of requests after which a connection is closed. */
  readonly requestsPerSocket: number;
  /** The maximum number of event streams that one caller may have open. */
  readonly streams: number;
  /**
   * The maximum number of heavy requests of each kind that one token may have running or waiting: reads of whole
   * histories, requests for large answers, and reads with `fresh`.
   */
  readonly heavyReads: number;
  /** The maximum number of gateway subscriptions that one token may have open. Operators have no such limit. */
  readonly subscriptions: number;
  /**
   * The time after which a gateway connection is closed if it has no messages and no subscriptions, in milliseconds.
   */
  readonly gatewayIdleMs: number;
  /** The maximum number of replicas that one caller may have connected over WebSocket. */
  readonly replicas: number;
  /** The interval of heartbeats on event streams and gateway connections, in milliseconds. */
  readonly heartbeatMs: number;
  /** The time in which accepted requests must be answered once the server is told to end, in milliseconds. */
  readonly drainMs: number;
  /** The maximum rates of requests of one token, by role. The owner's socket has no such limit. */
  readonly rates: Readonly<Record<Role, Rate>>;
}

export const DEFAULT_LIMITS: ServerLimits = {
  headersMs: 10_000,
  bodyMs: 30_000,
  slowBytes: 16 * 1024,
  slowMs: 20_000,
  keepAliveMs: 5_000,
  headerBytes: 16 * 1024,
  jsonBytes: 1024 * 1024,
  uploadBytes: 64 * 1024 ** 3,
  connections: 1_000,
  atOnce: {
    reader: { token: 0.2, role: 0.25 },
    agent: { token: 0.55, role: 0.6 },
    operator: { token: 0.95, role: 0.95 },
    all: 0.97,
  },
  requestsPerSocket: 10_000,
  streams: 200,
  heavyReads: 8,
  subscriptions: 2_000,
  gatewayIdleMs: 600_000,
  replicas: 500,
  heartbeatMs: 15_000,
  drainMs: 10_000,
  rates: {
    reader: { burst: 1_000, perSecond: 500 },
    agent: { burst: 2_000, perSecond: 1_000 },
    operator: { burst: 100_000, perSecond: 50_000 },
  },
};
