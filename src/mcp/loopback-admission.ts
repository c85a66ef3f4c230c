import { createHash, timingSafeEqual } from "node:crypto";
import { type RequestHead, strangerOf, type ServedAddresses } from "../util/web-guard.ts";

/** The reason why a request is refused. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

const HOSTS = ["127.0.0.1", "localhost", "[::1]"];

/** Admits requests to MCP on a loopback port: only those with the token, and none from a foreign host or origin. */
export class LoopbackAdmission {
  readonly #served: ServedAddresses;
  readonly #token: Buffer;

  constructor(port: number, token: string) {
    const hosts = HOSTS.map((host) => `${host}:${port}`);
    this.#served = { hosts, origins: hosts.map((host) => `http://${host}`), sharedWith: [] };
    this.#token = digestOf(token);
  }

  /** Checks only the head. */
  refusalOf(head: RequestHead): Refusal | undefined {
    const stranger = strangerOf(head, this.#served);
    if (stranger !== undefined) return { status: stranger.status, message: stranger.detail };
    if (!this.#isBearer(head.headers.authorization)) {
      return { status: 401, message: "give the server's token: Authorization: Bearer TOKEN" };
    }
    return head.url === "/mcp" ? undefined : { status: 404, message: "only /mcp is served" };
  }

  /** Compares digests, so that timing reveals neither the token's length nor how much of it was right. */
  #isBearer(authorization: string | undefined): boolean {
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
    return timingSafeEqual(digestOf(given), this.#token);
  }
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
