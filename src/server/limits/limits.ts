import type { Role } from "../../api/routes/role.ts";
import type { Rate } from "./rate-limiter.ts";

/** The shares of `connections` that may have a request in progress at once, from 0 to 1. */
export interface Share {
  /** For one token. */
  readonly token: number;
  /** For all tokens of a role. */
  readonly role: number;
}

/** The limits that a server sets for its callers. */
export interface ServerLimits {
  /** The time from the first byte of a request to the last of its headers, in milliseconds. */
  readonly headersMs: number;
  /** The time for a JSON body, in milliseconds. */
  readonly bodyMs: number;
  /** The bytes that an upload must bring in each `slowMs`. */
  readonly slowBytes: number;
  /**
   * The time within which an upload must bring `slowBytes`, or a client must take what it was sent, in milliseconds.
   */
  readonly slowMs: number;
  /** The time that a connection may be idle between two requests, in milliseconds. */
  readonly keepAliveMs: number;
  /** The most bytes of a request's line and headers. */
  readonly headerBytes: number;
  /** The most bytes of a JSON body. */
  readonly jsonBytes: number;
  /** The most bytes of an upload. The limits of the workspace apply, too. */
  readonly uploadBytes: number;
  /** The most connections of a port or socket. */
  readonly connections: number;
  /**
   * The shares of these connections that may have a request in progress at once, by role and in all. The owner's socket
   * has no such limit.
   */
  readonly atOnce: Readonly<Record<Role, Share>> & { readonly all: number };
  /** The number of requests after which a connection is closed. */
  readonly requestsPerSocket: number;
  /** The most event streams of one caller at once. */
  readonly streams: number;
  /** The most reads of whole histories, requests for large answers, and `fresh` reads, that one token may have running or waiting. */
  readonly heavyReads: number;
  /** The most gateway subscriptions at once, with one token. */
  readonly subscriptions: number;
  /** The time after which a gateway connection without messages and subscriptions ends, in milliseconds. */
  readonly gatewayIdleMs: number;
  /** The most replicas at once with one token. The owner's socket has no such limit. */
  readonly replicas: number;
  /** The interval of heartbeats on event streams and connections, in milliseconds. */
  readonly heartbeatMs: number;
  /** The time that accepted requests may take once the server is told to end, in milliseconds. */
  readonly drainMs: number;
  /** The request rates of one token. The owner's socket has no such limit. */
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
