import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseLine, sealEvents } from "../../src/core/log/chain.ts";
import { EMPTY_HEAD, type LogEvent } from "../../src/core/values/event.ts";
import { storeLayout } from "../../src/storage/layout.ts";

/** The folder of a store, and the configuration folder with its key and heads. */
export interface KeptPlaces {
  readonly home: string;
  readonly configFolder: string;
}

/** The files of one workspace's log and kept head, for tests that remove or change one of them. */
export class KeptHeads {
  readonly #places: KeptPlaces;
  readonly id: string;

  /** `id`: the workspace. Default: the only one of the store. */
  constructor(places: KeptPlaces, id = onlyWorkspace(places.home)) {
    this.#places = places;
    this.id = id;
  }

  get log(): string {
    return storeLayout(this.#places.home).workspace(this.id).log;
  }

  get head(): string {
    return join(this.#places.configFolder, "heads", this.id);
  }

  get key(): string {
    return join(this.#places.configFolder, "key.pem");
  }

  get events(): LogEvent[] {
    const text = readFileSync(this.log, "utf8");
    return text
      .trimEnd()
      .split("\n")
      .map((line) => parseLine(Buffer.from(line)));
  }

  /** The seq of the kept head; 0 if there is none. */
  get headSeq(): number {
    return existsSync(this.head) ? Number(readFileSync(this.head, "utf8").split("\n")[1]) : 0;
  }

  /** The names of the retired notes of former heads. */
  get former(): string[] {
    return readdirSync(dirname(this.head)).filter((name) => name.startsWith(`${this.id}.former-`));
  }

  /** Removes the index, which also records the end of the log. */
  dropIndex(): void {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(dirname(this.log), `index.db${suffix}`), { force: true });
  }

  /** Cuts the log to its first `lines` lines. */
  cut(lines: number): void {
    const all = readFileSync(this.log, "utf8").split("\n");
    writeFileSync(this.log, `${all.slice(0, lines).join("\n")}\n`);
  }

  /**
   * Replaces events of the log, and computes all hashes again. `change` gets each record as text, and returns the new
   * text, or `undefined` to drop the event.
   */
  forge(change: (record: string, event: LogEvent) => string | undefined): void {
    let head = EMPTY_HEAD;
    let first = 1;
    const lines: string[] = [];
    for (const event of this.events) {
      const changed = change(JSON.stringify(event.record), event);
      const record = JSON.parse(changed ?? "{}") as LogEvent["record"];
      const recordId = changed === undefined ? "user:other" : event.recordId;
      const commit = record["commit"] as { first: number } | undefined;
      if (commit !== undefined) commit.first = first;
      const [sealed] = sealEvents(head, [{ op: event.op, recordId, record }], event.ts);
      if (sealed === undefined) throw new Error("nothing was sealed");
      lines.push(sealed.line);
      head = sealed;
      if (commit !== undefined) first = sealed.seq + 1;
    }
    writeFileSync(this.log, lines.map((line) => `${line}\n`).join(""));
  }
}

function onlyWorkspace(home: string): string {
  const [id, ...others] = readdirSync(join(home, "workspaces")).filter((name) => name.length === 36);
  if (id === undefined || others.length > 0) throw new Error("the store does not have exactly one workspace");
  return id;
}
