import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "../../src/client/create-client.ts";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";

/** What the peer was asked. */
export interface PeerRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Answer = (request: PeerRequest, response: ServerResponse) => void;

const FAST = { tries: 4, firstWait: 1, longestWait: 20 };

/** Whoever answers a client on a real port, as badly as a test wants it. Each request takes the next answer, the last for good. */
export class ScriptedPeer implements AsyncDisposable {
  readonly requests: PeerRequest[] = [];
  readonly #server: Server;
  #at = 0;

  private constructor(answers: readonly Answer[]) {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("error", () => response.destroy());
      request.on("end", () => {
        const { method = "", url = "", headers } = request;
        const asked = { method, url, headers, body: Buffer.concat(pieces).toString() };
        this.requests.push(asked);
        const answer = answers[Math.min(this.#at, answers.length - 1)];
        this.#at += 1;
        answer?.(asked, response);
      });
    });
  }

  static async start(...answers: readonly Answer[]): Promise<ScriptedPeer> {
    const peer = new ScriptedPeer(answers);
    await new Promise<void>((done) => peer.#server.listen(0, "127.0.0.1", done));
    return peer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  client(): ChronicleClient {
    return createClient({ url: this.url, token: "chr_secret", retry: FAST });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

/** Answers JSON. */
export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
}

/** Answers a problem. */
export function problem(status: number, code: string, more: object = {}, headers: Record<string, string> = {}): Answer {
  return json({ type: "about:blank", title: "…", status, detail: `it is ${code}`, code, ...more }, status, headers);
}

/** Says nothing, and hangs up. */
export const hangUp: Answer = (_, response) => response.destroy();
