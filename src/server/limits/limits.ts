import type { Role } from "../../api/routes/role.ts";
import type { Rate } from "./rate-limiter.ts";

/** So much of a port's connections may be at work at once. */
export interface Share {
  /** For one token. */
  readonly token: number;
  /** For all tokens of a role. */
  readonly role: number;
}

/** What a server takes from those who ask. Far below Node's own: whoever is slow or half gone holds nothing. */
export interface ServerLimits {
  /** Milliseconds from the first byte of a request to the last of its headers. */
  readonly headersMs: number;
  /** Milliseconds for a body of JSON. */
  readonly bodyMs: number;
  /** An upload brings at least so many bytes in each `slowMs`; a reader takes as many. */
  readonly slowBytes: number;
  readonly slowMs: number;
  /** Milliseconds that a connection may be idle between two requests. */
  readonly keepAliveMs: number;
  /** Bytes of a request's line and headers. */
  readonly headerBytes: number;
  /** Bytes of a JSON body. */
  readonly jsonBytes: number;
  /** Bytes of an upload; the limits of the workspace count as well. */
  readonly uploadBytes: number;
  readonly connections: number;
  /** How much of them may be at work at once, by role and in all; the owner's socket has no such limit. */
  readonly atOnce: Readonly<Record<Role, Share>> & { readonly all: number };
  readonly requestsPerSocket: number;
  /** Streams of events at once, of one caller. */
  readonly streams: number;
  /** Checks of whole histories that one token may wait for at once. */
  readonly heavyReads: number;
  /** Subscriptions of gateways at once, with one token. */
  readonly subscriptions: number;
  /** Milliseconds after which a gateway's connection ends that asks for nothing and has no subscription. */
  readonly gatewayIdleMs: number;
  /** Replicas at once with one token; the owner's socket has no such limit. */
  readonly replicas: number;
  /** How often a stream of events says that it is alive, in milliseconds. */
  readonly heartbeatMs: number;
  /** How long what was taken may go on once the server is told to leave, in milliseconds. */
  readonly drainMs: number;
  /** Requests of one token; the owner's socket has no such limit. */
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
