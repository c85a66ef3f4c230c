import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Selection } from "../../src/api/action-api.ts";
import type { ActionShape } from "../../src/api/action-shapes.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { givenRoot, inRoot } from "../../test/model/model-roots.ts";
import { HOW, pickOf, requestOf } from "../../test/model/model-requests.ts";
import { actorOf, sessionOf } from "../../test/model/model-requests.ts";
import type { Begin, Happening } from "../../test/model/model-steps.ts";
import { MOST_BYTES, type Touch } from "../../test/model/model-tree.ts";
import type { Notes } from "./transcript.ts";
import type { World } from "./world.ts";

/** The place in which a history is played through `WorkspaceApi`: this process, or a server. */
export interface Stage {
  /** Opens the store. After `close`, opens the same store again. */
  open(): Promise<StoreApi>;
  close(store: StoreApi): Promise<void>;
  /** Creates the workspace, and resolves to its id. `hosted`: true if the workspace has no folder. */
  begin(options: { readonly hosted: boolean }): Promise<string>;
  /** Sets the clock. */
  tick(now: number): void;
  /**
   * True if the play must record the paths that it has changed on disk, because the server does not watch the folder.
   */
  readonly tells: boolean;
}

/**
 * The duration of a step on the play's clock, in milliseconds. It is less than the two seconds for which a changed file
 * counts as racy, so that plays have racy files, too.
 */
const STEP_MS = 1_500;

/** Plays a history through `WorkspaceApi`, the contract of both the library and the client. */
export class ApiPlay {
  readonly #notes: Notes;
  readonly #world: World;
  readonly #stage: Stage;
  readonly #hosted: boolean;
  #store: StoreApi | undefined;
  #workspace: WorkspaceApi | undefined;
  #id = "";
  #seq = 0;

  constructor(notes: Notes, world: World, stage: Stage, hosted: boolean) {
    this.#notes = notes;
    this.#world = world;
    this.#stage = stage;
    this.#hosted = hosted;
  }

  get #at(): WorkspaceApi {
    if (this.#workspace === undefined) throw new Error("no workspace is open");
    return this.#workspace;
  }

  async begin(): Promise<void> {
    this.#stage.tick(this.#world.now);
    this.#id = await this.#stage.begin({ hosted: this.#hosted });
    await this.#open();
    await this.#ask("snapshot", () => this.#at.snapshot());
    if (!this.#hosted) return;
    for (const path of ["shared", "d/x"]) await this.#put(path, "a0\n");
  }

  async end(): Promise<void> {
    const all = ["verify", "snapshots", "list", "sessions", "operations", "files", "manifest", "head"] as const;
    for (const one of all) await this.#look(one);
    await this.#close();
  }

  async #open(): Promise<void> {
    this.#store = await this.#stage.open();
    this.#workspace = await this.#store.openById(this.#id);
  }

  async #close(): Promise<void> {
    await this.#workspace?.close();
    if (this.#store !== undefined) await this.#stage.close(this.#store);
    this.#workspace = undefined;
  }

  #ask<T>(call: string, work: () => Promise<T>): Promise<T | undefined> {
    return this.#notes.ask(call, work);
  }

  async step(what: Happening, number: number): Promise<void> {
    this.#world.now += STEP_MS;
    this.#stage.tick(this.#world.now);
    await this.#perform(what);
    await this.#log();
    await this.#look(LOOKS[number % LOOKS.length] ?? "status");
  }

  async #log(): Promise<void> {
    const events = await this.#ask("log", () => this.#at.log({ from: this.#seq + 1 }));
    this.#seq = events?.at(-1)?.seq ?? this.#seq;
  }

  async #perform(what: Happening): Promise<void> {
    switch (what.kind) {
      case "touch":
        return this.#touch(what.touches);
      case "begin":
        await this.#begin(what);
        return;
      case "act": {
        const action = await this.#begin(what.begin);
        if (action !== undefined) await this.#end(action, { ...what, outcome: "done" });
        return;
      }
      case "finish":
        return this.#finish(what);
      case "run":
        return this.#run(what);
      case "begin-transaction": {
        const { session, who, owned } = what;
        const by = {
          ...(session ? { session: sessionOf(who), actor: actorOf(who) } : {}),
          ...(owned ? {} : { pid: null }),
        };
        await this.#ask("beginTransaction", () => this.#at.beginTransaction(by));
        return;
      }
      case "commit":
      case "rollback-transaction":
        return this.#endTransaction(what);
      case "undo-of":
        return this.#undoOf(what);
      case "rollback":
      case "restore":
        return this.#goBack(what);
      case "resolve":
        return this.#resolve(what);
      case "reopen":
      case "restart":
        await this.#close();
        return this.#open();
      case "rule":
        return this.#rule(what);
      case "wait":
        this.#world.now += what.ms;
        return this.#stage.tick(this.#world.now);
      default:
        return this.#upkeep(what);
    }
  }

  async #upkeep(what: Happening): Promise<void> {
    const at = this.#at;
    if (what.kind === "redo-of") {
      const operation = pickOf((await this.#ask("operations", () => at.operations())) ?? [], what.pick);
      if (operation !== undefined) await this.#ask("redo", () => at.redo({ operation: operation.id }));
    } else if (what.kind === "snapshot") await this.#ask("snapshot", () => at.snapshot());
    else if (what.kind === "undo") await this.#ask("undo", () => at.undo());
    else if (what.kind === "redo") await this.#ask("redo", () => at.redo());
    else if (what.kind === "gc") await this.#ask("gc", () => at.gc());
    else if (what.kind === "rebuild") await this.#ask("rebuild", () => at.rebuild());
    else if (what.kind === "compact") await this.#ask("compact", () => at.compact());
    else if (what.kind === "drop") await this.#ask("compact", () => at.compact({ dropArchive: true }));
    else if (what.kind === "verify") await this.#look("verify");
    else if (what.kind === "prune") {
      const rules = { keepLast: what.keepLast, keepHourly: what.hourly, keepPinned: what.keepPinned };
      const done = await this.#ask("prune", () => at.prune({ ...rules, now: true }));
      if (done === undefined) await this.#ask("prune", () => at.prune(rules));
      await this.#ask("gc", () => at.gc());
    } else if (what.kind === "pin") {
      const action = pickOf(await this.#actions(), what.pick);
      if (action !== undefined) await this.#ask("pin", () => at.pin(action.id, what.pinned));
    }
  }

  /**
   * Makes the changes of tools and people. In a folder, they are made beside the program. In a workspace without a
   * folder, they are requests to the program.
   */
  async #touch(touches: readonly Touch[]): Promise<void> {
    for (const one of touches) {
      if (this.#hosted) await this.#write(one);
      else this.#world.touch(one);
    }
    if (this.#hosted || !this.#stage.tells) return;
    await this.#record(touches.map((one) => one.path));
  }

  /** Records the changed paths, and the folders above them, which may have been made for them. */
  async #record(touched: readonly string[]): Promise<void> {
    const paths = touched.flatMap((path) => path.split("/").map((_, i, names) => names.slice(0, i + 1).join("/")));
    await this.#ask("record", () => this.#at.record([...new Set(paths)]));
  }

  #absolute(path: string): string {
    return requestOf(this.#world.roots, { ...PLAIN, path }).payload?.path ?? path;
  }

  #put(path: string, text: string, permissions?: number): Promise<unknown> {
    const options = permissions === undefined ? {} : { permissions };
    return this.#ask("putFile", () => this.#at.putFile(path, Buffer.from(text), options));
  }

  async #write({ how, path, place }: Touch): Promise<void> {
    const word = this.#world.word();
    if (how === "remove") await this.#ask("deleteFile", () => this.#at.deleteFile(path));
    else if (how === "folder") await this.#ask("makeFolder", () => this.#at.makeFolder(path));
    else if (how === "link") await this.#ask("moveFile", () => this.#at.moveFile(path, `${path}-${place}`));
    else if (how === "chmod") await this.#put(path, `${word}\n`, [0o600, 0o644, 0o755][place % 3]);
    else if (how === "binary" || how === "lock") await this.#put(path, `\0${word}`);
    else if (how === "large") await this.#put(path, word.repeat(MOST_BYTES));
    else await this.#put(path, `${word}\n-- gap\n-- gap\n${place}\n`);
  }

  async #rule({ pick, name, inOptions }: Extract<Happening, { readonly kind: "rule" }>): Promise<void> {
    const root = pickOf(this.#world.roots, pick);
    if (root === undefined) return;
    if (root.only === undefined && !inOptions && !this.#hosted) {
      this.#world.rule(root, name);
      if (this.#stage.tells) await this.#record([inRoot(root, ".gitignore")]);
    } else await this.#ask("configure", () => this.#at.configure({ excludePatterns: [name] }));
  }

  async #begin(what: Begin): Promise<ActionShape | undefined> {
    const onFailure = what.who === 1 ? ("warn" as const) : ("block" as const);
    const request = { ...requestOf(this.#world.roots, what), onFailure };
    return (await this.#ask("snapshotAction", () => this.#at.snapshotAction(request))) ?? undefined;
  }

  async #finish(what: Extract<Happening, { readonly kind: "finish" }>): Promise<void> {
    const { outcome } = what;
    const open = (await this.#actions()).filter(({ state }) => state === "open" || state === "abandoned");
    const action = pickOf(open, what.pick);
    if (action !== undefined && outcome !== "never") await this.#end(action, { ...what, outcome });
  }

  async #end(
    action: ActionShape,
    what: {
      readonly outcome: "done" | "failed" | "denied";
      readonly touches: readonly Touch[];
      readonly place: number;
    },
  ): Promise<void> {
    const { outcome, touches, place } = what;
    const how = HOW[action.action_type] ?? "edit";
    const own = action.files_backed_up.filter((path) => this.#isOurs(path)).map((path) => ({ how, path, place }));
    if (outcome !== "denied") await this.#touch([...own, ...touches]);
    await this.#ask("finishAction", () => this.#at.finishAction(action.id, { outcome }));
  }

  /** Returns true if a touch can name this path: the path is in a root of the model, and is not a root itself. */
  #isOurs(path: string): boolean {
    const id = /^@([a-z]+):/.exec(path)?.[1] ?? "";
    return path !== "" && path !== "." && this.#world.roots.some((root) => root.id === id);
  }

  /** Runs a command that makes no changes itself. It waits while the play makes its changes. */
  async #run({ touches, code, rollback }: Extract<Happening, { readonly kind: "run" }>): Promise<void> {
    const [begun, done] = [join(this.#world.run, "begun"), join(this.#world.run, "done")];
    const text = `: > '${begun}'; while [ ! -e '${done}' ]; do sleep 0.01; done; rm '${begun}' '${done}'; exit ${code}`;
    let isOver = false;
    const options = { command: ["sh", "-c", text], rollbackOnFailure: rollback };
    const ran = this.#ask("run", () => this.#at.run(options)).then(() => (isOver = true));
    while (!existsSync(begun) && !isOver) await pause(3);
    if (!isOver) {
      for (const one of touches) this.#world.touch(one);
      writeFileSync(done, "");
    }
    await ran;
  }

  async #endTransaction({ kind, pick }: { readonly kind: string; readonly pick: number }): Promise<void> {
    const active = (await this.#ask("transactions", () => this.#at.transactions())) ?? [];
    const one = pickOf(
      active.filter(({ status }) => status === "active"),
      pick,
    );
    if (one === undefined) return;
    if (kind === "commit") await this.#ask("commitTransaction", () => this.#at.commitTransaction(one.id));
    else await this.#ask("rollbackTransaction", () => this.#at.rollbackTransaction(one.id));
  }

  async #actions(): Promise<readonly ActionShape[]> {
    return ((await this.#ask("list", () => this.#at.list())) ?? []).toReversed();
  }

  async #resolve({ pick, keep }: Extract<Happening, { readonly kind: "resolve" }>): Promise<void> {
    const at = this.#at;
    const one = pickOf((await this.#ask("conflicts", () => at.conflicts({ patch: true }))) ?? [], pick);
    const content = Buffer.from("settled\n");
    if (one !== undefined) await this.#ask("resolve", () => at.resolve(one.id, { keep, content }));
  }

  async #goBack({ kind, pick }: { readonly kind: "rollback" | "restore"; readonly pick: number }): Promise<void> {
    const at = this.#at;
    const action = pickOf(await this.#actions(), pick);
    const [dryRun, force] = [pick % 3 === 0, pick % 5 === 0];
    if (kind === "restore") {
      const moment = action === undefined ? "baseline" : `seq:${action.from_seq}`;
      if (dryRun) await this.#ask("restore", () => at.restore(moment, { dryRun }));
      await this.#ask("restore", () => at.restore(moment, { force, keepMtime: pick % 7 === 0 }));
    } else if (action !== undefined) {
      if (dryRun) await this.#ask("rollback", () => at.rollback(action.id, { dryRun }));
      await this.#ask("rollback", () => at.rollback(action.id, { force }));
    }
  }

  async #undoOf({ by, pick, dryRun }: Extract<Happening, { readonly kind: "undo-of" }>): Promise<void> {
    const selection = await this.#selection(by, pick);
    if (selection === undefined) return;
    const at = this.#at;
    await this.#ask("changes", () => at.changes(selection, { patch: pick % 2 === 0 }));
    if (dryRun) await this.#ask("undo", () => at.undo({ ...selection, dryRun: true }));
    await this.#ask("undo", () => at.undo(selection));
  }

  async #selection(by: string, pick: number): Promise<Selection | undefined> {
    if (by === "actor") return { actor: ["ann", "bob", "human"][pick % 3] ?? "" };
    if (by === "file") return { file: this.#hosted ? "shared" : this.#absolute(pickOf(PATHS, pick) ?? "shared") };
    const action = pickOf(await this.#actions(), pick);
    if (action === undefined) return undefined;
    if (by === "since") return { since: `seq:${action.from_seq}` };
    if (by === "action") return { action: action.id };
    return by === "turn" ? { turn: action.turn ?? "" } : { session: action.session ?? "" };
  }

  /** Sends a request that changes nothing. */
  async #look(what: Look): Promise<void> {
    const at = this.#at;
    if (what === "diff") await this.#ask(what, () => at.diff("baseline", "now", { patch: true }));
    else if (what === "manifest") await this.#ask(what, () => at.manifest("latest"));
    else if (what === "explain") await this.#ask(what, () => at.explain("d/x"));
    else if (what === "history") await this.#ask(what, () => at.history("shared"));
    else if (what === "conflicts") await this.#ask(what, () => at.conflicts({ all: true, patch: true }));
    else if (what === "recent") await this.#ask(what, () => at.recent(10));
    else if (what === "cat") await this.#ask(what, () => this.#content("shared"));
    else await this.#ask(what, (): Promise<unknown> => at[what]());
  }

  async #content(path: string): Promise<unknown> {
    const content = await this.#at.cat(path);
    const pieces: Uint8Array[] = [];
    for await (const piece of content.pieces()) pieces.push(piece);
    const { iteration, size, hash, kind } = content;
    return { path: content.path, iteration, size, hash, kind, text: Buffer.concat(pieces).toString() };
  }
}

const PATHS = ["shared", "d/x", "d", "e/f", "new"];
const PLAIN: Begin = { kind: "begin", who: 0, type: "write_file", path: "", to: "", turn: 1, depth: 0, owned: true };

const LOOKS = [
  "status",
  "diff",
  "recent",
  "list",
  "transactions",
  "conflicts",
  "operations",
  "files",
  "history",
  "cat",
  "sessions",
  "explain",
  "snapshots",
  "head",
  "config",
  "manifest",
  "retention",
  "signing",
] as const;
type Look = (typeof LOOKS)[number] | "verify";

/** Returns the options of `init` for a workspace with folders. */
export function initOptions(world: World): { readonly roots: readonly string[]; readonly maxFileSize: number } {
  return { roots: world.roots.map(givenRoot), maxFileSize: MOST_BYTES };
}
