import type { WorkspaceShape } from "../../api/shapes.ts";
import type { StoreApi } from "../../api/store-api.ts";
import type { ActingAs } from "../../api/workspace-api.ts";
import type { MeShape } from "../../api/routes/reply-shapes.ts";
import type { ChronicleClient } from "../../client/chronicle-client.ts";
import { createClient } from "../../client/create-node-client.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { Io } from "../io.ts";
import { bareTokenNote } from "./bare-token.ts";
import { ownServer } from "./own-server.ts";
import type { RemoteAddress } from "./remote-address.ts";
import { remoteToken } from "./remote-token.ts";

const MOST_LISTED = 20;

/** How a command line asks a server. */
export interface RemoteOptions {
  readonly address: RemoteAddress;
  /** `--token-file`. */
  readonly tokenFile: string | undefined;
  /** Instead of it, and of `$CHRONICLE_TOKEN`. */
  readonly token?: string | undefined;
  readonly acting: ActingAs;
  /** Is told what people should know about the way to the server. */
  readonly onNote: (note: string) => void;
  /** Ask once and no more: for what somebody waits for at a keyboard. */
  readonly once: boolean;
}

/** A server in the place of the store. */
export class RemoteServer {
  readonly #client: ChronicleClient;
  readonly #address: RemoteAddress;

  private constructor(client: ChronicleClient, address: RemoteAddress) {
    this.#client = client;
    this.#address = address;
  }

  /** Nothing is asked yet. Throws `USAGE` for what is no address or no token, `UNSAFE` as `ownServer` does. */
  static of(io: Io, { address, tokenFile, token: own, acting, once, onNote }: RemoteOptions): RemoteServer {
    const token = own ?? remoteToken({ file: tokenFile, given: io.env["CHRONICLE_TOKEN"], cwd: io.cwd() });
    const note = bareTokenNote(address.url, token);
    if (note !== undefined) onNote(note);
    const client = createClient({
      url: address.url === "unix:" ? ownServer(io) : address.url,
      acting,
      commandHints: true,
      ...(token === undefined ? {} : { token }),
      ...(once ? { retry: { tries: 1, firstWait: 0, longestWait: 0 } } : {}),
    });
    return new RemoteServer(client, address);
  }

  get store(): StoreApi {
    return this.#client.store;
  }

  /**
   * The workspace that is meant: the named one (`--workspace`), else that of the address, else that of the folder the server
   * was started in, else the only one. Throws `NOT_FOUND` where there is none, `AMBIGUOUS` where there are several.
   */
  async workspace(named: string | undefined): Promise<string> {
    const said = named ?? this.#address.workspace ?? (await this.#client.me()).default_workspace;
    return said ?? onlyOne(await this.store.workspaces());
  }

  /** Who one is there. Throws `UNAUTHENTICATED`, `UNAVAILABLE`. */
  me(): Promise<MeShape> {
    return this.#client.me();
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.#client.close();
  }
}

/** Archived ones count only where there is nothing else. */
function onlyOne(all: readonly WorkspaceShape[]): string {
  const going = all.filter(({ archived }) => archived !== true);
  const meant = going.length === 0 ? all : going;
  const [only, second] = meant;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", "the server has no workspace", {
      hint: "begin one: chronicle workspaces create [name]",
    });
  }
  if (second === undefined) return only.id;
  const sorted = meant.toSorted((a, b) => labelOf(a).localeCompare(labelOf(b)));
  const lines = sorted.slice(0, MOST_LISTED).map((one) => `  ${one.id}  ${labelOf(one)}`.trimEnd());
  const more = meant.length - lines.length;
  throw new ChronicleError("AMBIGUOUS", `the server has ${meant.length} workspaces`, {
    hint: ["say which, with -w ID or -w NAME:", ...lines, ...(more > 0 ? [`  … and ${more} more`] : [])].join("\n"),
    data: { workspaces: sorted.map(({ id, name }) => name ?? id) },
  });
}

function labelOf({ name, path }: WorkspaceShape): string {
  return name ?? path;
}
