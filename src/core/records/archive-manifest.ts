import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import { ChronicleError } from "../values/errors.ts";
import { type Hash, sha256 } from "../values/hash.ts";
import { hashOf, object, text, whole } from "../values/record-fields.ts";
import { FORMAT_VERSION, refuseOtherFormat } from "./workspace-record.ts";

/**
 * The names of the entries of an archive, in the order of the entries. A name that ends with `-` or `/` is the prefix
 * of the names of several entries.
 */
export const ARCHIVE = {
  manifest: "chronicle-archive.json",
  /** The signer's private key. Present only if the history was exported with `--with-key`. */
  key: "key.pem",
  head: "head",
  /**
   * The prefix of the entries with the notes of former heads. The first 16 digits of the note's SHA-256 follow this
   * prefix. The entries are sorted by these digits.
   */
  former: "head.former-",
  quarantine: "quarantine/",
  withheld: "withheld",
  log: "events.wal",
  contents: "contents/",
} as const;

/** The version of the archive format that this code reads and writes. */
const ARCHIVE_VERSION = 1;

/** The numbers of contents that an archive leaves out, one number for each reason. */
export interface WithheldCounts {
  /** Contents of files that are secrets by their names. */
  readonly protected: number;
  /** Private contents: files that were kept aside, prompts, the state of git, and files outside of the workspace. */
  readonly private: number;
  /** Contents that the exporting store itself lacked, because an origin or an earlier export had left them out. */
  readonly elsewhere: number;
}

/** Returns the name of the entry with the note of a former head. */
export function formerName(note: string): string {
  return `${ARCHIVE.former}${sha256(note).slice(0, 16)}`;
}

/** Returns the name of the folder that contains all entries of an archive. */
export function archiveFolder(workspace: string): string {
  return `chronicle-${workspace}`;
}

/**
 * The first entry of an archive. The manifest describes the other entries, and an import checks these entries against
 * the manifest.
 */
export interface ArchiveManifest {
  readonly workspace: string;
  /** The seq of the first event, the seq of the last event, and the hash of the last event. */
  readonly first: number;
  readonly seq: number;
  readonly hash: Hash;
  /** The total size, in bytes, of all entries after the manifest. */
  readonly bytes: number;
  /** The number of contents in the archive. */
  readonly contents: number;
  readonly withheld: WithheldCounts;
}

export function encodeManifest(manifest: ArchiveManifest): string {
  const { workspace, first, seq, hash, bytes, contents, withheld } = manifest;
  const value = {
    archive: ARCHIVE_VERSION,
    bytes,
    contents,
    first_seq: first,
    format: FORMAT_VERSION,
    hash,
    seq,
    withheld: { ...withheld },
    workspace,
  };
  return `${canonicalJson(value, { integers: true })}\n`;
}

/**
 * Parses a manifest. Throws `FORMAT_UNSUPPORTED` for an archive or a log of another version, and `INTEGRITY_VIOLATION`
 * or `LOG_DAMAGED` for anything else that `encodeManifest` does not write.
 */
export function decodeManifest(bytes: Uint8Array): ArchiveManifest {
  const body = object(parseCanonical(textOf(bytes).replace(/\n$/, ""), { integers: true }), "the manifest");
  const version = whole(body, "archive");
  if (version !== ARCHIVE_VERSION) throw otherVersion(version);
  refuseOtherFormat(whole(body, "format"), "the history in this archive");
  const withheld = object(body["withheld"], "withheld");
  const counts = ["protected", "private", "elsewhere"].map((key) => whole(withheld, key));
  const [ofProtected = 0, ofPrivate = 0, elsewhere = 0] = counts;
  const manifest: ArchiveManifest = {
    workspace: text(body, "workspace"),
    first: whole(body, "first_seq"),
    seq: whole(body, "seq"),
    hash: hashOf(body, "hash"),
    bytes: whole(body, "bytes"),
    contents: whole(body, "contents"),
    withheld: { protected: ofProtected, private: ofPrivate, elsewhere },
  };
  if (encodeManifest(manifest) !== textOf(bytes)) {
    throw new ChronicleError("INTEGRITY_VIOLATION", "the manifest has fields that no export writes");
  }
  return manifest;
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: false }).decode(bytes);
}

function otherVersion(version: number): ChronicleError {
  return new ChronicleError(
    "FORMAT_UNSUPPORTED",
    `this archive has the form ${version}, but this version of Chronicle reads only form ${ARCHIVE_VERSION}`,
    { hint: "nothing was imported; import the archive with the version of Chronicle that wrote it" },
  );
}
