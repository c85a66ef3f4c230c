import type { Change, Entry } from "../core/values/entry.ts";
import type { Hash } from "../core/values/hash.ts";
import { sha256 } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { FileStat } from "../disk/disk.ts";
import type {
  ApplyReport,
  ApplyRequest,
  ContentReader,
  KnownPath,
  ScanReport,
  ScanRequest,
} from "../worktree/worktree.ts";
import type { WorktreeHarness } from "./worktree-harness.ts";

/** Makes simple captures: scans, reads the changed paths, remembers them, and keeps their contents. */
export class Recorder {
  readonly entries = new Map<WorkspacePath, Entry>();
  readonly contents = new Map<Hash, Buffer>();
  readonly harness: WorktreeHarness;

  constructor(harness: WorktreeHarness) {
    this.harness = harness;
  }

  async capture(
    request: ScanRequest = {},
    worktree = this.harness.worktree,
  ): Promise<ScanReport & { changed: string[] }> {
    const known: KnownPath[] = [];
    const found: { path: WorkspacePath; stat: FileStat; target?: Buffer }[] = [];
    const report = await worktree.scan(request, (batch) => found.push(...batch));
    for (const { path, stat, target } of found) {
      const entry = await worktree.inspect(path);
      if (entry === undefined) continue;
      if (entry.kind === "file") this.keep(this.harness.edit.read(path));
      if (entry.kind === "symlink") this.keep(target ?? Buffer.alloc(0));
      this.entries.set(path, entry);
      known.push({ entry, stat });
    }
    for (const path of report.gone) this.entries.delete(path);
    worktree.remember(known);
    worktree.forget(report.gone);
    return { ...report, changed: found.map((one) => one.path as string) };
  }

  keep(content: Buffer): Hash {
    const hash = sha256(content);
    this.contents.set(hash, content);
    return hash;
  }

  state(): Map<WorkspacePath, Entry> {
    return new Map(this.entries);
  }

  /** Returns all differences between the recorded state and an earlier one. */
  changesTo(target: ReadonlyMap<WorkspacePath, Entry>): Change[] {
    const changes: Change[] = [];
    for (const path of new Set([...this.entries.keys(), ...target.keys()])) {
      const [before, after] = [this.entries.get(path), target.get(path)];
      const same = before?.kind === after?.kind && before?.mode === after?.mode && before?.hash === after?.hash;
      if (!same) changes.push({ path, before, after });
    }
    return changes;
  }

  async apply(changes: readonly Change[], more: Partial<ApplyRequest> = {}): Promise<ApplyReport> {
    const contents = (hashes: Iterable<Hash>) => this.#read(hashes);
    const request: ApplyRequest = { token: "01TESTTOKEN", changes, contents, onBlocked: "fail", ...more };
    const report = await this.harness.worktree.apply(request);
    for (const { path, after } of changes) {
      if (!report.applied.includes(path)) continue;
      if (after === undefined) this.entries.delete(path);
      else this.entries.set(path, after);
    }
    return report;
  }

  /** Returns a reader of a kept content. */
  reader(hash: Hash): ContentReader | undefined {
    const content = this.contents.get(hash);
    return content === undefined ? undefined : readerOf(content);
  }

  async *#read(hashes: Iterable<Hash>): AsyncGenerator<readonly [Hash, ContentReader | undefined]> {
    for (const hash of [...hashes].toReversed()) yield [hash, this.reader(hash)] as const;
  }
}

function readerOf(content: Buffer): ContentReader {
  return {
    size: content.length,
    async *pieces() {
      if (content.length > 0) yield content;
    },
  };
}
