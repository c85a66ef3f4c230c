import { setTimeout as sleep } from "node:timers/promises";
import { ChronicleError, STARTING } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { isOwnAddress, ownUid, runFolder } from "../../daemon/run-folder.ts";
import { placesOf } from "../../process/places.ts";
import type { Io } from "../../process/io.ts";
import type { WorkspaceShape } from "../../api/shapes.ts";
import type { StoreApi } from "../../api/store-api.ts";
import type { ActingAs } from "../../api/workspace-api.ts";
import type { MeShape } from "../../api/routes/reply-shapes.ts";
import type { ChronicleClient } from "../../client/chronicle-client.ts";
import { createClient } from "../../client/create-node-client.ts";
import { bareTokenNote, remoteToken } from "./remote-token.ts";
import type { RemoteAddress } from "./remote-address.ts";
import { optional } from "../../util/optional.ts";

const MOST_LISTED = 20;

/** The time, in milliseconds, after which a server that is still starting is asked again. */
const ASK_AGAIN_MS = 500;
const STARTS = "the server is starting: it opens the folder that it was started in";

export interface RemoteOptions {
  readonly address: RemoteAddress;
  /** The value of `--token-file`. */
  readonly tokenFile: string | undefined;
  /** A token that is used instead of the token file and `$CHRONICLE_TOKEN`. */
  readonly token?: string | undefined;
  readonly acting: ActingAs;
  /** Called with notes for the user about the connection to the server. */
  readonly onNote: (note: string) => void;
  /** True if each request is tried only once, because the user is waiting for completions. */
  readonly once: boolean;
}

export class RemoteServer {
  readonly #client: ChronicleClient;
  readonly #options: RemoteOptions;

  private constructor(client: ChronicleClient, options: RemoteOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Returns a `RemoteServer` for the address, without sending a request. Passes a note to `onNote` if the token would
   * be sent over a network without encryption. Throws `USAGE` for an invalid address or token, and the errors of
   * `ownServer`.
   */
  static of(io: Io, options: RemoteOptions): RemoteServer {
    const { address, tokenFile, token: own, acting, once, onNote } = options;
    const token = own ?? remoteToken({ file: tokenFile, given: io.env["CHRONICLE_TOKEN"], cwd: () => io.cwd() });
    const note = bareTokenNote(address.url, token);
    if (note !== undefined) onNote(note);
    const client = createClient({
      url: address.url === "unix:" ? ownServer(io) : address.url,
      acting,
      commandHints: true,
      ...optional({ token }),
      ...(once ? { retry: { tries: 1, firstWait: 0, longestWait: 0 } } : {}),
    });
    return new RemoteServer(client, options);
  }

  get store(): StoreApi {
    return this.#client.store;
  }

  /**
   * Returns the id or name of the workspace. These are tried in this order: `named` (the value of `--workspace`), the
   * workspace in the address, the workspace of the folder in which the server was started, and the only workspace. If
   * the server is still opening its folder, tells the user and asks the server again. With `once`, throws `UNAVAILABLE`
   * instead. Throws `NOT_FOUND` if there is no workspace, and `AMBIGUOUS` if there are several.
   */
  async workspace(named: string | undefined): Promise<string> {
    const said = named ?? this.#options.address.workspace ?? (await this.#ownOfServer());
    return said ?? onlyOne(await this.store.workspaces());
  }

  async #ownOfServer(): Promise<string | null> {
    const { once, onNote } = this.#options;
    for (let tried = 0; ; tried += 1) {
      const { default_workspace: own, starting } = await this.#client.me();
      if (own !== null || starting !== true) return own;
      if (once) throw stillStarting();
      if (tried === 0) onNote(`${STARTS}; it is asked again until the folder is open (Ctrl-C stops the waiting)`);
      await sleep(ASK_AGAIN_MS);
    }
  }

  /**
   * Returns the server's description of this caller. Throws `UNAUTHENTICATED` if the token is not accepted, and
   * `UNAVAILABLE` if the server does not answer.
   */
  me(): Promise<MeShape> {
    return this.#client.me();
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.#client.close();
  }
}

function stillStarting(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", STARTS, { hint: "try again in a moment", data: { about: STARTING } });
}

/** Returns the id of the only workspace. An archived workspace counts only if all workspaces are archived. */
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
    hint: ["name one with -w ID or -w NAME:", ...lines, ...(more > 0 ? [`  … and ${more} more`] : [])].join("\n"),
    data: { workspaces: sorted.map(({ id, name }) => name ?? id) },
  });
}

function labelOf({ name, path }: WorkspaceShape): string {
  return name ?? path;
}

/** Returns the URL for the address `unix:`. Throws `UNSAFE` if the socket could belong to another user. */
function ownServer({ env, userHome, cwd }: Pick<Io, "env" | "userHome" | "cwd">): string {
  const disk = new NodeDisk();
  const { home } = placesOf({ env, userHome, cwd, store: undefined });
  const run = runFolder(disk, { env, home, uid: ownUid() });
  if (isOwnAddress(disk, run, ownUid())) return `unix:${run.address}`;
  throw new ChronicleError("UNSAFE", `${run.address} leads to a folder that is not yours alone`, {
    hint: "look at that link, remove it, and start the server again: chronicle serve",
    data: { path: run.address },
  });
}
