import { ChronicleError } from "../values/errors.ts";
import type { Json, RecordBody } from "../values/event.ts";
import type { CaptureLimits, FilterOptions } from "../filter/filter.ts";
import type { Hash } from "../values/hash.ts";
import {
  damaged,
  flag,
  hashOf,
  list,
  object,
  optionalText,
  orNull,
  text,
  texts,
  whole,
} from "../values/record-fields.ts";
import { isRootId } from "../values/path.ts";
import { optional } from "../../util/optional.ts";

/** The format version that this code reads and writes. */
export const FORMAT_VERSION = 2;

/**
 * Throws `FORMAT_UNSUPPORTED` unless `format` is `FORMAT_VERSION`. `what` (for example, `this workspace`) begins the
 * message.
 */
export function refuseOtherFormat(format: number, what: string): void {
  if (format === FORMAT_VERSION) return;
  const isNewer = format > FORMAT_VERSION;
  throw new ChronicleError(
    "FORMAT_UNSUPPORTED",
    `${what} has format ${format}, but this version of Chronicle reads only format ${FORMAT_VERSION}`,
    {
      hint: isNewer
        ? `a newer version of Chronicle wrote it: update Chronicle. Nothing was changed`
        : `an older version of Chronicle wrote it. Read it with such a version (before format ${FORMAT_VERSION}), or begin a new history with this version. Nothing was changed`,
      data: { format, reads: FORMAT_VERSION },
    },
  );
}

/** One tracked root, as the log records it. */
export interface RootRecord {
  /** The id of the root; `null` for the first root. */
  readonly id: string | null;
  /** The absolute path of the folder; `""` in a hosted workspace, which has no folder. */
  readonly folder: string;
  /**
   * Only for a root that is a single file: the name of the file in `folder`. Omitted if the whole folder is tracked.
   */
  readonly only?: string;
  readonly filter: FilterOptions;
  readonly limits: CaptureLimits;
}

/** `workspace:<id>`: the record of the workspace, written as event 1 and again whenever one of its fields changes. */
export interface WorkspaceRecord {
  readonly format: number;
  readonly created: string;
  readonly roots: readonly RootRecord[];
  /**
   * The device and the inode of the first root, as decimal numbers. The two numbers identify the folder after it was
   * moved. Both are `"0"` in a hosted workspace.
   */
  readonly device: string;
  readonly inode: string;
  /**
   * The birth time of the first root's folder, in nanoseconds since 1970. This time distinguishes the folder from a
   * later folder with the same inode. Omitted if unknown.
   */
  readonly born?: string;
  /**
   * False if excluded files are not kept aside. In this case, copies that were kept aside earlier are freed. Default:
   * true.
   */
  readonly keepsAside?: false;
  /** False if no prompts are recorded. In this case, prompts that were recorded earlier are freed. Default: true. */
  readonly recordsPrompts?: false;
  /**
   * File names that a person has added to the table of protected names, or excluded (`!`). See `ProtectedNames`.
   * Default: none.
   */
  readonly protectedNames?: readonly string[];
  /** The name of the workspace, which is unique in the store. Omitted if the workspace has no name. */
  readonly name?: string;
  /** The time at which the workspace was archived. Omitted if the workspace is not archived. */
  readonly archived?: string;
  /** Only for a fork: the state with which the fork begins. */
  readonly from?: ForkOrigin;
}

/**
 * A state of another workspace: the state right after the event `seq`. `hash` is the hash of this event, and `root` is
 * the Merkle root of the files.
 */
export interface ForkOrigin {
  readonly workspace: string;
  readonly seq: number;
  readonly hash: Hash;
  readonly root: Hash;
}

/** Encodes a filter for a workspace's record, or for the blob of filters that a snapshot names. */
export function encodeFilter(filter: FilterOptions): RecordBody {
  return {
    use_gitignore: filter.useGitignore,
    exclude_patterns: filter.excludePatterns,
    exclude_globs: filter.excludeGlobs,
    force_include: filter.forceInclude,
  };
}

/** Decodes the output of `encodeFilter`. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeFilter(value: Json | undefined): FilterOptions {
  const body = object(value, "a filter");
  return {
    useGitignore: flag(body, "use_gitignore"),
    excludePatterns: texts(body, "exclude_patterns"),
    excludeGlobs: texts(body, "exclude_globs"),
    forceInclude: texts(body, "force_include"),
  };
}

export function encodeWorkspace(record: WorkspaceRecord): RecordBody {
  const roots = record.roots.map((root) => ({
    id: root.id,
    folder: root.folder,
    ...optional({ only: root.only }),
    filter: encodeFilter(root.filter),
    limits: {
      max_entries: root.limits.maxEntries,
      max_bytes: root.limits.maxBytes,
      max_file_size: root.limits.maxFileSize,
    },
  }));
  const { format, created, device, inode, born, name, archived, from, keepsAside, recordsPrompts } = record;
  const { protectedNames } = record;
  return {
    format,
    created,
    roots,
    device,
    inode,
    ...optional({ born, keeps_aside: keepsAside, record_prompts: recordsPrompts }),
    ...optional({ protected_names: protectedNames, name, archived }),
    ...(from === undefined ? {} : { from: { ...from } }),
  };
}

/**
 * Decodes a workspace record. Throws `FORMAT_UNSUPPORTED` for another format, and `LOG_DAMAGED` for an invalid record.
 */
export function decodeWorkspace(body: RecordBody): WorkspaceRecord {
  const format = whole(body, "format");
  refuseOtherFormat(format, "this workspace");
  const roots = list(body, "roots").map((item): RootRecord => {
    const root = object(item, "a root");
    const limits = object(root["limits"], "limits");
    const only = optionalText(root, "only");
    return {
      id: orNull(root, "id", text),
      folder: text(root, "folder"),
      ...optional({ only }),
      filter: decodeFilter(root["filter"]),
      limits: {
        maxEntries: whole(limits, "max_entries"),
        maxBytes: whole(limits, "max_bytes"),
        maxFileSize: whole(limits, "max_file_size"),
      },
    };
  });
  checkRootIds(roots);
  const [device, inode] = [text(body, "device"), text(body, "inode")];
  return { format, created: text(body, "created"), roots, device, inode, ...decodeOptional(body) };
}

function checkRootIds(roots: readonly RootRecord[]): void {
  const [first, ...further] = roots.map(({ id }) => id);
  if (first !== null) damaged("the first root has an id");
  if (further.some((id) => id === null || !isRootId(id))) damaged("a further root has no root id");
  if (new Set(further).size < further.length) damaged("two roots have the same id");
}

type OptionalFields = Pick<
  WorkspaceRecord,
  "born" | "name" | "archived" | "from" | "keepsAside" | "recordsPrompts" | "protectedNames"
>;

function decodeOptional(body: RecordBody): OptionalFields {
  const [name, archived] = [optionalText(body, "name"), optionalText(body, "archived")];
  const born = optionalText(body, "born");
  const isOff = (key: string): boolean => body[key] !== undefined && !flag(body, key);
  return {
    ...optional({ born }),
    ...(isOff("keeps_aside") ? { keepsAside: false } : {}),
    ...(isOff("record_prompts") ? { recordsPrompts: false } : {}),
    ...(body["protected_names"] === undefined ? {} : { protectedNames: texts(body, "protected_names") }),
    ...optional({ name, archived }),
    ...(body["from"] === undefined ? {} : { from: decodeOrigin(object(body["from"], "from")) }),
  };
}

function decodeOrigin(body: RecordBody): ForkOrigin {
  const [workspace, seq] = [text(body, "workspace"), whole(body, "seq")];
  return { workspace, seq, hash: hashOf(body, "hash"), root: hashOf(body, "root") };
}

const SHAPE = /^[A-Za-z0-9_@][A-Za-z0-9._:@-]{0,127}$/;

/**
 * Returns true for a valid name of a workspace: 1 to 128 of the characters `A-Z a-z 0-9 . _ : @ -`, beginning with a
 * letter, a digit, `_` or `@`.
 */
export function isWorkspaceName(text: string): boolean {
  return SHAPE.test(text);
}
