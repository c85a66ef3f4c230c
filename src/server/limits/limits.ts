import type { Role } from "../../api/routes/role.ts";
import type { Rate } from "./rate-limiter.ts";

/** Limits of requests in progress, as shares (0 to 1) of `connections`. */
export interface Share {
  /** The share of each single token. */
  readonly token: number;
  /** The share of all tokens of the role together. */
  readonly role: number;
}

/** The limits of a server. `DEFAULT_LIMITS` has the defaults. */
export interface ServerLimits {
  /** The maximum time from the first byte of a request to the end of its headers, in milliseconds. */
  readonly headersMs: number;
  /** The maximum time until a JSON body has arrived, in milliseconds. */
  readonly bodyMs: number;
  /** The minimum number of bytes of an upload that must arrive in each period of `slowMs`. */
  readonly slowBytes: number;
  /**
   * The length of the period in which `slowBytes` of an upload must arrive, in milliseconds. It is also the maximum
   * time in which a client must read the sent bytes.
   */
  readonly slowMs: number;
  /** The maximum time for which a connection may be idle between two requests, in milliseconds. */
  readonly keepAliveMs: number;
  /** The maximum size of a request's line and headers, in bytes. */
  readonly headerBytes: number;
  /** The maximum size of a JSON body, in bytes. */
  readonly jsonBytes: number;
  /** The maximum size of an upload, in bytes. The workspace's own limits apply, too. */
  readonly uploadBytes: number;
  /** The maximum number of connections of each port or socket. */
  readonly connections: number;
  /**
   * The maximum numbers of requests in progress, by role and in total (`all`), as shares of `connections`. The owner's
   * socket has no such limit.
   */
  readonly atOnce: Readonly<Record<Role, Share>> & { readonly all: number };
  /** The number of requests after which a connection is closed. */
  readonly requestsPerSocket: number;
  /** The maximum number of open event streams of one caller. */
  readonly streams: number;
  /**
   * The maximum number of heavy requests of each kind that one token may have running or waiting. The kinds are reads
   * of whole histories, requests for large answers, and reads with `fresh`. The owner's socket has no such limit.
   */
  readonly heavyReads: number;
  /** The maximum number of open gateway subscriptions of one token. Operators have no such limit. */
  readonly subscriptions: number;
  /**
   * The time after which a gateway connection without messages and subscriptions is closed, in milliseconds. The
   * owner's socket has no such limit.
   */
  readonly gatewayIdleMs: number;
  /** The maximum number of replicas that one caller may have connected over WebSocket. */
  readonly replicas: number;
  /** The interval of heartbeats on event streams and gateway connections, in milliseconds. */
  readonly heartbeatMs: number;
  /** The maximum time in which accepted requests are answered once the server is told to end, in milliseconds. */
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
