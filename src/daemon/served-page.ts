import { ACTING } from "../api/routes/content-headers.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { makeProblem, problemOf, problemReply, type Report } from "../server/answers/problem.ts";
import type { Connection, ServerReply, ServerRoute } from "../server/answers/server-route.ts";
import type { PageTokens } from "../server/callers/listener.ts";
import { INDEX, type PageFiles, pageRoutes } from "../server/page/page-routes.ts";
import { PageSessions } from "../server/page/page-sessions.ts";
import { listenTrouble } from "./listen-trouble.ts";

/** The path of the request by which the owner asks the store's process for the page's address. */
export const PAGE_OPEN_PATH = "/page/open";

const MAX_PORT = 65_535;

interface ServedPageOptions {
  readonly files: PageFiles;
  /**
   * Offers the page on a port of 127.0.0.1 (0: any free port), and notes the port. Resolves to the number of the port.
   */
  readonly listen: (port: number) => Promise<number>;
  /**
   * Reads and writes the port on which the page was last offered. The next process uses the same port, so that the
   * page's address and what a browser has stored for the page stay valid.
   */
  readonly lastPort: { read(): number | undefined; write(port: number): void };
  /** True if another user of this machine holds the other end of a connection. */
  readonly isForeign: (connection: Connection) => boolean;
  readonly report: Report;
}

/** The page of a store's process: its routes, its sessions, and the ports of 127.0.0.1 that offer it. */
export class ServedPage {
  readonly routes: readonly ServerRoute[];
  readonly #options: ServedPageOptions;
  readonly #sessions: PageSessions;
  readonly #ports: number[] = [];
  /**
   * Settles when the last opening of a port has ended. Each opening waits for the one before it, so that two requests
   * do not open two ports.
   */
  #opening: Promise<unknown> = Promise.resolve();

  constructor(options: ServedPageOptions) {
    this.#options = options;
    // This clock never goes back, even if the system's clock is set back.
    const now = (): number => performance.timeOrigin + performance.now();
    this.#sessions = new PageSessions(now);
    const { files, isForeign } = options;
    const open: ServerRoute = {
      ...{ method: "POST", path: PAGE_OPEN_PATH, maxBody: 1_024 },
      handle: ({ headers, body }) => this.#answer(headers[ACTING.role] === "agent", body.toString("utf8")),
    };
    this.routes = [open, ...pageRoutes({ files, isForeign, sessions: this.#sessions, now })];
  }

  /** The tokens that the listeners of the page accept. */
  get tokens(): PageTokens {
    return this.#sessions;
  }

  /** Notes a port of 127.0.0.1 that offers the page already. */
  note(port: number): void {
    this.#ports.push(port);
  }

  /** Returns a code that every listener of the page accepts. The code must not be put on a command line. */
  newCode(): string {
    return this.#sessions.newCode();
  }

  /** Throws `REFUSED` if the installation has no page. */
  check(): void {
    if (this.#options.files.list().has(INDEX)) return;
    throw new ChronicleError("REFUSED", "this installation of Chronicle has no page", {
      hint: "install Chronicle from its package, or build the page: npm run build",
    });
  }

  async #answer(isAgent: boolean, body: string): Promise<ServerReply> {
    if (isAgent) return problemReply(makeProblem(403, "FORBIDDEN", "an agent may not open the page"));
    const port = portIn(body);
    if (port === undefined) return problemReply(makeProblem(400, "USAGE", `a port is a number from 0 to ${MAX_PORT}`));
    try {
      this.check();
      const number = await this.#offer(port);
      const place = `127.0.0.1:${number}`;
      const url = `http://${place}/#code=${this.#sessions.newCode(place)}`;
      return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify({ url }) };
    } catch (error) {
      const setting = { hidden: [], commands: true, report: this.#options.report };
      return problemReply(problemOf(listenTrouble(error), setting));
    }
  }

  /**
   * Resolves to a port that offers the page. `wanted` is the number of the port, or 0 for any port. A port that already
   * offers the page is used again.
   */
  #offer(wanted: number): Promise<number> {
    const offering = this.#opening.then(async () => {
      const known = this.#ports.find((port) => wanted === 0 || port === wanted);
      return known ?? this.#listen(wanted);
    });
    // The caller gets the error of a failed opening. The next opening ignores this error, and begins after the failure.
    this.#opening = offering.catch(() => undefined);
    return offering;
  }

  /**
   * Listens on the wanted port. If any port will do (0), listens on the port that was last used, unless another program
   * has taken that port.
   */
  async #listen(wanted: number): Promise<number> {
    const { listen, lastPort, report } = this.#options;
    const last = wanted === 0 ? lastPort.read() : undefined;
    if (last !== undefined) {
      try {
        return await listen(last);
      } catch (error) {
        if (errnoOf(error) !== "EADDRINUSE") throw error;
      }
    }
    const port = await listen(wanted);
    try {
      lastPort.write(port);
    } catch (error) {
      // The page is offered even if its port cannot be stored, for example on a full disk.
      report(`the port of the page could not be kept: ${error instanceof Error ? error.message : String(error)}`);
    }
    return port;
  }
}

/** Returns the port in a body `{ "port": … }`; 0 if the body has none; `undefined` for any other body. */
function portIn(body: string): number | undefined {
  if (body === "") return 0;
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value !== "object" || value === null) return undefined;
    const port = "port" in value ? value.port : 0;
    return typeof port === "number" && Number.isInteger(port) && port >= 0 && port <= MAX_PORT ? port : undefined;
  } catch {
    return undefined;
  }
}
