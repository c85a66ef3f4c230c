import { type BaseEntry, type BaseHeader, rootFolder } from "./base-format.ts";
import type { Hash } from "../values/hash.ts";
import { ManifestHasher } from "../tree/merkle.ts";
import type { WorkspacePath } from "../values/path.ts";

/** A folder whose stored hash differs from the hash that is computed from the rows of the folder's contents. */
export interface FolderFault {
  readonly path: WorkspacePath;
  readonly stored: Hash | undefined;
  readonly computed: Hash;
}

/**
 * Recomputes the Merkle hashes of a base from its rows. Pass the header to the constructor, then every batch of entries
 * to `add`, and then call `finish`. The memory that a check uses grows only with the depth of the tree. Throws
 * `INTEGRITY_VIOLATION` for entries that `ManifestHasher` refuses.
 */
export class BaseTreeCheck {
  readonly #header: BaseHeader;
  readonly #faults: FolderFault[] = [];
  // Maps each folder that has not been compared yet to its stored hash.
  readonly #stored = new Map<WorkspacePath, Hash | undefined>();
  readonly #hasher: ManifestHasher;

  constructor(header: BaseHeader) {
    this.#header = header;
    for (const { id, hash } of header.roots) this.#stored.set(rootFolder(id), hash);
    this.#hasher = new ManifestHasher((path, computed) => this.#compare(path, computed));
  }

  add(entries: readonly BaseEntry[]): void {
    for (const { path, entry, folderHash } of entries) {
      if (entry === undefined) continue;
      if (entry.kind === "dir") this.#stored.set(path, folderHash);
      this.#hasher.add(entry);
    }
  }

  /** Returns the faults. The list is empty if every folder hash and the root match the rows. */
  finish(): readonly FolderFault[] {
    const further = this.#header.roots.map((root) => root.id).filter((id) => id !== "");
    const computed = this.#hasher.finish(further);
    if (computed !== this.#header.root && this.#faults.length === 0) {
      this.#faults.push({ path: rootFolder(""), stored: this.#header.root, computed });
    }
    return this.#faults;
  }

  #compare(path: WorkspacePath, computed: Hash): void {
    const stored = this.#stored.get(path);
    this.#stored.delete(path);
    if (stored !== computed) this.#faults.push({ path, stored, computed });
  }
}
