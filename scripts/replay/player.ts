import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import type { createClient } from "../../src/client/node.ts";
import type { openStore } from "../../src/open.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import { isCompared } from "./alike.ts";
import { ApiPlay, initOptions, type Stage } from "./play-api.ts";
import { CommandPlay } from "./play-commands.ts";
import { Notes, type Play, type Transcript } from "./transcript.ts";
import { World } from "./world.ts";

/**
 * Plays histories with one program: `player.ts WAY PROGRAM FOLDER`. `preload.ts` must be loaded before. Each line of
 * the input is a `Play` as JSON. For each, prints one line, the `Transcript` as JSON.
 */

export type Way = "library" | "http" | "cli";

const [, , way = "", program = "", folder = ""] = process.argv;

const TOKEN = "the-operator-token-of-a-replay-0123456789";
const PINNED = globalThis.replayPinned;
if (PINNED === undefined) throw new Error("preload.ts is not loaded");

interface Library {
  readonly openStore: typeof openStore;
}

interface Client {
  readonly createClient: typeof createClient;
}

/** The processes of a program: their command line, and their environments. */
class Processes {
  readonly #world: World;
  readonly #seed: string;
  #count = 0;

  constructor(world: World, seed: string) {
    this.#world = world;
    this.#seed = seed;
  }

  get cli(): string {
    return join(program, "dist/cli.js");
  }

  /**
   * Returns the environment for the next process. `clock`: a file with the time, for a process that lives longer than
   * one step. Default: the time of the play now.
   */
  env(clock?: string): NodeJS.ProcessEnv {
    this.#count += 1;
    const { at, home, store } = this.#world;
    return {
      ...{ PATH: process.env["PATH"], NODE_OPTIONS: process.env["NODE_OPTIONS"], TZ: "UTC", LANG: "C.UTF-8" },
      ...{ NODE_COMPILE_CACHE: join(folder, "compiled"), NO_COLOR: "1" },
      ...{ HOME: home, CHRONICLE_HOME: store, XDG_CONFIG_HOME: join(at, "config"), XDG_RUNTIME_DIR: this.#world.run },
      ...{ REPLAY_STORE: store, REPLAY_STAT: process.env["REPLAY_STAT"], REPLAY_SEED: `${this.#seed} ${this.#count}` },
      ...{ REPLAY_PID: String((PINNED?.pid ?? 0) + this.#count), REPLAY_CLOCK: clock ?? String(this.#world.now) },
    };
  }
}

async function inLibrary(world: World): Promise<Stage> {
  const { openStore: open } = (await import(pathToFileURL(join(program, "dist/index.js")).href)) as Library;
  const openHere = (): Promise<StoreApi> =>
    open({ home: world.store, configFolder: world.config, userHome: world.home });
  return {
    open: openHere,
    close: (store) => store.close(),
    begin: async ({ hosted }) => {
      const store = await openHere();
      const { workspace } = hosted ? await store.create({ name: "hosted" }) : await store.init(initOptions(world));
      await workspace.close();
      await store.close();
      return workspace.id;
    },
    tick: (now) => {
      if (PINNED !== undefined) PINNED.now = () => now;
    },
    tells: false,
  };
}

/** A server in a process of its own. Both the HTTP responses and the results of the client are noted. */
class Served implements Stage {
  readonly #world: World;
  readonly #notes: Notes;
  readonly #processes: Processes;
  readonly tells = true;
  #url = "";
  #stop: () => Promise<void> = () => Promise.resolve();

  constructor(world: World, notes: Notes, processes: Processes) {
    this.#world = world;
    this.#notes = notes;
    this.#processes = processes;
  }

  get #clock(): string {
    return join(this.#world.run, "clock");
  }

  tick(now: number): void {
    writeFileSync(this.#clock, String(now));
    if (PINNED !== undefined) PINNED.now = () => now;
  }

  async begin({ hosted }: { readonly hosted: boolean }): Promise<string> {
    const library = await inLibrary(this.#world);
    const folderId = hosted ? "" : await library.begin({ hosted: false });
    await this.#start();
    if (!hosted) return folderId;
    const store = await this.open();
    const { workspace } = await store.create({ name: "hosted" });
    return workspace.id;
  }

  async #start(): Promise<void> {
    const words = ["serve", "--json", "--port", "0", "--socket", join(this.#world.run, "s.sock"), "--watch-most", "0"];
    const child = spawn(process.execPath, [this.#processes.cli, ...words], {
      cwd: this.#world.home,
      env: { ...this.#processes.env(this.#clock), CHRONICLE_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = Promise.all([readText(child.stderr), new Promise((resolve) => child.once("exit", resolve))]);
    this.#stop = async () => {
      child.kill("SIGTERM");
      const [stderr, code] = await ended;
      this.#notes.add("serve", { stderr, code });
      this.#stop = () => Promise.resolve();
    };
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let text = "";
    child.stdout.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (url !== null) resolve(url[0]);
    });
    child.once("exit", () => reject(new Error(`the server ended: ${text}`)));
    this.#url = await promise;
  }

  async open(): Promise<StoreApi> {
    const { createClient: connect } = (await import(
      pathToFileURL(join(program, "dist/client-node.js")).href
    )) as Client;
    return connect({ url: this.#url, token: TOKEN, fetch: (...words) => this.#fetch(...words), commandHints: true })
      .store;
  }

  async #fetch(...[target, options]: Parameters<typeof fetch>): Promise<Response> {
    const response = await fetch(target, options);
    const headers = [...response.headers].filter(([name]) => isCompared("header", name));
    const url = String(target instanceof Request ? target.url : target).replace(this.#url, "");
    const body = await response.clone().text();
    this.#notes.add(`${options?.method ?? "GET"} ${url}`, { status: response.status, headers, body });
    return response;
  }

  async close(store: StoreApi): Promise<void> {
    await store.close();
  }

  end(): Promise<void> {
    return this.#stop();
  }
}

interface Player {
  begin(): Promise<void>;
  step(what: Play["script"][number]["what"], number: number): Promise<void>;
  end(): Promise<void>;
}

async function played(play: Play): Promise<Transcript> {
  const world = new World(join(folder, `h${play.number}`), play.layout);
  PINNED?.seed(`seed ${play.number}`);
  mkdirSync(world.config, { recursive: true, mode: 0o700 });
  writeFileSync(join(world.config, "config.yaml"), `chronicle:\n  max_snapshots: ${play.keep}\n`, { mode: 0o600 });
  const notes = new Notes();
  const processes = new Processes(world, `seed ${play.number}`);
  const served = way === "http" ? new Served(world, notes, processes) : undefined;
  const player: Player =
    way === "cli"
      ? new CommandPlay(notes, world, processes)
      : new ApiPlay(notes, world, served ?? (await inLibrary(world)), play.hosted);
  try {
    await player.begin();
    for (const [i, { what }] of play.script.entries()) {
      [notes.step, notes.what] = [i, what.kind];
      await player.step(what, i);
    }
    notes.what = "end-history";
    await player.end();
    await served?.end();
    return { entries: notes.entries, files: world.dump() };
  } finally {
    await served?.end();
    world.dispose();
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const result = await played(JSON.parse(line) as Play);
  // The path of the program can be in its output and files, for example in hooks that it installs.
  process.stdout.write(`${JSON.stringify(result).replaceAll(`${program}/`, "/program/")}\n`);
}
