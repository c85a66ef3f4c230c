import type { ProgressOptions } from "./workspace-api.ts";

/** Options of an export of one workspace's whole history into one file. */
export interface ExportOptions extends ProgressOptions {
  /** The absolute path of the archive. If it ends in `.zst`, the archive is compressed by zstd. */
  readonly file: string;
  /** True to replace a file that exists. Default: false. */
  readonly force?: boolean;
  /**
   * True to also export the signing key, so that another machine can continue to sign the history with this key.
   * Anybody who has the archive can then sign as you. Default: false.
   */
  readonly withKey?: boolean;
  /** True to also export the contents of files that are secrets by their names. Default: false. */
  readonly withProtected?: boolean;
  /**
   * True to also export private contents: files that were kept aside, prompts, the state of git, and files outside of
   * the workspace. Default: false.
   */
  readonly withPrivate?: boolean;
}

/** The numbers of contents that an archive leaves out. */
export interface WithheldShape {
  /** Contents of files that are secrets by their names. */
  protected: number;
  /** The private contents: files that were kept aside, prompts, the state of git, files outside of the workspace. */
  private: number;
  /** Contents that the exporting store did not have itself. */
  elsewhere: number;
}

/** The result of an export. */
export interface ExportShape {
  workspace: string;
  /** The absolute path of the archive, and its size in bytes. */
  file: string;
  bytes: number;
  /** The last event in the archive, its hash, and the Merkle root of the files at this event. */
  seq: number;
  hash: string;
  root: string;
  /** The number of contents in the archive. */
  contents: number;
  withheld: WithheldShape;
  /** The verifier key that the head in the archive is signed with. */
  key: string;
  with_key: boolean;
}

/** Options of an import of an archive that `exportArchive` has written. */
export interface ImportArchiveOptions extends ProgressOptions {
  /** The absolute path of the archive. */
  readonly file: string;
  /** Another name for the workspace. Default: the name that it had. */
  readonly name?: string;
  /**
   * The absolute path of a folder that `init` with `adopt` will give to the workspace after the import. The import
   * itself writes nothing there. It only checks in advance that the folder is empty or missing, and that the history
   * has exactly one root; otherwise, it throws `REFUSED`. Default: the workspace stays without a folder.
   */
  readonly to?: string;
  /**
   * True to make the signing key of the archive the key of this machine. This machine must not have another key
   * already. Default: false.
   */
  readonly useKey?: boolean;
}

/** The result of an import. */
export interface ImportArchiveShape {
  workspace: string;
  name: string | null;
  /** The last event in the archive, its hash, and the Merkle root of the files at this event. */
  seq: number;
  hash: string;
  root: string;
  contents: number;
  withheld: WithheldShape;
  /** The verifier key of the head in the archive. */
  archive_key: string;
  /** The verifier key with which the history is signed from now on. */
  key: string;
  /** True if the archive holds its signing key. */
  with_key: boolean;
  /** True if the signing key of the archive is the key of this machine now, as `useKey` asks. */
  key_installed: boolean;
  /**
   * True if, from now on, the history is signed by another key than before the export. An event then records the change
   * of the key.
   */
  accepted: boolean;
}
