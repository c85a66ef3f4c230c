import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A content that somebody has left in a file. */
export interface Save {
  readonly path: string;
  readonly hash: string;
  /** When, in ms of `performance.now`. */
  readonly at: number;
}

/** Files that are edited: so many that each rests for a while after it was saved. */
const FILES = 40;

/** Somebody at a desk, whose editors save in the ways of VS Code and vim, and who at times moves or deletes a file. */
export class DeskEditor {
  /** What was saved, in this order. */
  readonly saves: Save[] = [];
  readonly #folder: string;
  readonly #random: () => number;
  readonly #ways = [inPlace, inTwoPieces, byTemporary, asVim, asVimKeepingInode];
  #number = 0;

  constructor(folder: string, random: () => number) {
    this.#folder = folder;
    this.#random = random;
  }

  async run(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      const dice = this.#random();
      if (dice < 0.9) await this.#edit();
      else if (dice < 0.95) this.#move();
      else rmSync(this.#at(this.#path()), { force: true });
      await delay(150 + this.#random() * 900);
    }
  }

  /** Opens a file, thinks, and saves it with something else in it; one that was changed meanwhile is opened anew. */
  async #edit(): Promise<void> {
    const path = this.#path();
    const at = this.#at(path);
    mkdirSync(dirname(at), { recursive: true });
    const opened = textOf(at);
    await delay(this.#random() * 300);
    if (textOf(at) !== opened) return;
    const content = this.#changed(opened);
    const save = this.#ways[this.#below(this.#ways.length)] ?? inPlace;
    await save(at, content);
    const hash = createHash("sha256").update(content).digest("hex");
    this.saves.push({ path, hash, at: performance.now() });
  }

  #changed(text: string): string {
    const lines = text === "" ? Array.from({ length: 12 }, (_, n) => `line ${n}`) : text.trimEnd().split("\n");
    const word = `desk ${(this.#number += 1)}`;
    lines[this.#below(lines.length)] = this.#random() < 0.05 ? `${word} ${"long ".repeat(20_000)}` : word;
    return `${lines.join("\n")}\n`;
  }

  #move(): void {
    const [from, to] = [this.#at(this.#path()), this.#at(this.#path())];
    if (textOf(from) === "") return;
    mkdirSync(dirname(to), { recursive: true });
    renameSync(from, to);
  }

  #path(): string {
    const n = this.#below(FILES);
    // Every fifth is one that others write to, too.
    return n % 5 === 0 ? `shared/${Math.floor(n / 10)}.md` : `desk/${n % 4}/${n}.md`;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #at(path: string): string {
    return join(this.#folder, path);
  }
}

/** What is in a file; empty where there is none. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return "";
  }
}

/** VS Code: the file is emptied and written. */
async function inPlace(path: string, content: string): Promise<void> {
  writeFileSync(path, content);
}

/** The same, slowly: whoever looks in between sees half of it. */
async function inTwoPieces(path: string, content: string): Promise<void> {
  const fd = openSync(path, "w");
  const half = Math.floor(content.length / 2);
  writeSync(fd, content.slice(0, half));
  await delay(20);
  writeSync(fd, content.slice(half));
  closeSync(fd);
}

/** As editors that save atomically: beside it, and then in its place. */
async function byTemporary(path: string, content: string): Promise<void> {
  const beside = `${path}.vsctmp`;
  writeFileSync(beside, content);
  renameSync(beside, path);
}

/**
 * Vim with its own settings (`backupcopy=auto`, `writebackup`): a swap file while it is open, a probe of the folder (`4913`), the
 * old file becomes a backup, the new one is written and synced, the backup goes.
 */
async function asVim(path: string, content: string): Promise<void> {
  const swap = join(dirname(path), `.${basename(path)}.swp`);
  writeFileSync(swap, "b0VIM 9.1");
  const probe = join(dirname(path), "4913");
  writeFileSync(probe, "");
  rmSync(probe);
  const isNew = textOf(path) === "";
  if (!isNew) renameSync(path, `${path}~`);
  writeSynced(path, content);
  if (!isNew) rmSync(`${path}~`);
  await delay(30);
  rmSync(swap);
}

/** Vim where the file keeps its inode (`backupcopy=yes`): the backup is a copy. */
async function asVimKeepingInode(path: string, content: string): Promise<void> {
  const isNew = textOf(path) === "";
  if (!isNew) copyFileSync(path, `${path}~`);
  writeSynced(path, content);
  if (!isNew) rmSync(`${path}~`);
}

function writeSynced(path: string, content: string): void {
  const fd = openSync(path, "w");
  writeSync(fd, content);
  fsyncSync(fd);
  closeSync(fd);
}
