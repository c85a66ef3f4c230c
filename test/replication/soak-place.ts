import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { LogEventShape, VerifyShape } from "../../src/api/shapes.ts";
import type { SyncApi, SyncShape } from "../../src/api/sync-api.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { open } from "../../src/open.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { CutWire, freePort } from "../helpers/cut-wire.ts";
import { ReplicateProcess } from "../helpers/replicate-process.ts";
import { folderOf } from "../helpers/replica-trial.ts";
import { ServerProcess } from "../helpers/server-process.ts";

/** As long as it takes: a client goes on until it knows. */
const retry = { tries: 10_000, firstWait: 20, longestWait: 300, longestInAll: 600_000 };

/** A desk: the folder, and the process of its owner's store that has it follow. */
interface Desk {
  readonly folder: string;
  readonly id: string;
}

/** An origin, a sandbox that follows it over WebSocket, a desk that follows it over a Unix socket, and the network in between. */
export class Place implements AsyncDisposable {
  readonly origin: ServerProcess;
  readonly box: ReplicateProcess;
  readonly desk: Desk;
  readonly wires: readonly CutWire[];
  readonly parts: Parts;
  readonly #owner: ReplicateProcess;
  readonly #stack: AsyncDisposableStack;

  private constructor(made: Pick<Place, "origin" | "box" | "desk" | "wires" | "parts">, more: More) {
    this.origin = made.origin;
    this.box = made.box;
    this.desk = made.desk;
    this.wires = made.wires;
    this.parts = made.parts;
    this.#owner = more.owner;
    this.#stack = more.stack;
  }

  static async open(): Promise<Place> {
    await using stack = new AsyncDisposableStack();
    const box = stack.use(new ReplicateProcess());
    // Only a home and a folder: what runs there is begun by `sync start`.
    const owner = stack.use(new ReplicateProcess());
    stack.defer(() => endStoreProcess(box));
    stack.defer(() => endStoreProcess(owner));
    const port = await freePort();
    const byPort = stack.use(new CutWire(0, port));
    await byPort.listen();
    const name = `127.0.0.1:${byPort.port}`;
    const listen = ["--listen", `127.0.0.1:${port}`, "--allow-host", name];
    const origin = stack.use(new ServerProcess(["--replication", ...listen]));
    mkdirSync(join(origin.project, "shared"));
    for (let n = 0; n < 4; n += 1)
      writeFileSync(
        join(origin.project, `shared/${n}.md`),
        Array.from({ length: 12 }, (_, at) => `line ${at}\n`).join(""),
      );
    await origin.start();
    const bySocket = stack.use(new CutWire(join(box.base, "w.sock"), origin.socketUrl.slice("unix:".length)));
    await bySocket.listen();
    const token = join(box.base, "box.token");
    writeFileSync(token, origin.makeToken("agent"), { mode: 0o600 });
    await box.start(["--ws-connect", `http://${name}`, "--token-file", token]);
    const { id } = chronicle<SyncShape>(owner, ["sync", "start", `unix:${bySocket.path}`, owner.folder]);
    const clients = [origin.socketUrl, box.socketUrl, `unix:${storeSocket(owner)}`].map((url) =>
      createClient({ url, retry }),
    );
    for (const client of clients) stack.defer(() => client.close());
    const [there, atBox, atDesk] = clients as [Client, Client, Client];
    const parts = {
      source: there.workspace(await folderOf(there)),
      boxSyncs: atBox.syncs,
      deskSyncs: atDesk.syncs,
    };
    await Promise.all([parts.boxSyncs.flush(box.id), parts.deskSyncs.flush(id)]);
    const desk = { folder: owner.folder, id };
    return new Place({ origin, box, desk, wires: [byPort, bySocket], parts }, { owner, stack: stack.move() });
  }

  /** Ends both replicas in peace; what is in their histories. */
  async end(): Promise<{ readonly box: LogEventShape[]; readonly desk: LogEventShape[] }> {
    const code = await this.box.kill("SIGINT");
    if (code !== 0) throw new Error(`replicate ended with ${code}`);
    await this.parts.deskSyncs.stop(this.desk.id);
    await endStoreProcess(this.box);
    await endStoreProcess(this.#owner);
    return { box: await logOf(this.box), desk: await logOf(this.#owner) };
  }

  /** What `verify` finds, everywhere. */
  async complaints(): Promise<unknown[][]> {
    const found = [(await this.parts.source.verify()).problems];
    for (const one of [this.box, this.#owner])
      for (const args of [["verify"], ["--upstream", "verify"]])
        found.push([...chronicle<VerifyShape>(one, args).problems]);
    return found;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

type Client = ReturnType<typeof createClient>;

interface Parts {
  readonly source: ReturnType<Client["workspace"]>;
  readonly boxSyncs: SyncApi;
  readonly deskSyncs: SyncApi;
}

interface More {
  readonly owner: ReplicateProcess;
  readonly stack: AsyncDisposableStack;
}

/** A command of somebody's, run in their folder. */
function chronicle<T>({ folder, env, base }: ReplicateProcess, args: readonly string[]): T {
  const cwd = args[0] === "sync" ? base : folder;
  const ran = spawnSync(process.execPath, [chronicleBin(), ...args, "--json"], { cwd, env, encoding: "utf8" });
  if (ran.stdout === "") throw new Error(ran.stderr);
  return JSON.parse(ran.stdout) as T;
}

async function logOf({ folder, home, userHome }: ReplicateProcess): Promise<LogEventShape[]> {
  const configFolder = join(userHome, ".config", "chronicle");
  const workspace = await open({ folder, home, configFolder, readOnly: true });
  const log = await workspace.log();
  await workspace.close();
  return log;
}

const storeSocket = ({ home }: ReplicateProcess): string => join(home, "run", "serve.sock");

/** Ends the process that a command or a hook has started for somebody's store. */
async function endStoreProcess(of: ReplicateProcess): Promise<void> {
  const { pid } = (await whoAnswers(storeSocket(of), "0.1.0")) ?? {};
  if (pid === undefined) return;
  process.kill(pid, "SIGTERM");
  while ((await whoAnswers(storeSocket(of), "0.1.0")) !== undefined) await delay(20);
}
