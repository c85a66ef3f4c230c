import { createHash } from "node:crypto";
import { ChronicleError } from "../../core/values/errors.ts";
import { parseHash, sha256, type Hash, isHash } from "../../core/values/hash.ts";
import { intentOfRequest, MOST_REQUEST_CHARS } from "../../core/records/records.ts";
import type { HeldLock } from "../../storage/lock.ts";
import { answer } from "../log/answer.ts";
import type { Context, Caller } from "../log/context.ts";
import { doneRequest } from "../facts/taken-ids.ts";
import { refuseOverQuota } from "../log/quota.ts";
import { withBatch } from "../../storage/blob-store.ts";
import type { PutFileOptions, WriteBy, WriteCondition } from "../../api/file-api.ts";
import { canonicalJson } from "../../core/values/canonical-json.ts";
import { SYMLINK_MODE } from "../../core/values/entry.ts";
import type { Json } from "../../core/values/event.ts";
import { displayPath, isHeldBy, pathToBytes, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { TrackedRoot } from "../../worktree/worktree.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { shownPath } from "../log/shape.ts";
import { tooLong, unwritable } from "./writable-path.ts";
import { checkActorName, checkVisible } from "../../core/records/actor-name.ts";
import { optional } from "../../util/optional.ts";

/** A checked write: its paths and options are valid, and its content was received. */
export type ReadyWrite = ReadyPut | ReadyFolder | ReadyDelete | ReadyMove;

interface Ready {
  readonly path: WorkspacePath;
  readonly by: WriteBy & { readonly caller: Caller };
  /**
   * The condition on the present state of the path:
   * - a hash: the path has this content (`""`: the path is a folder);
   * - a sorted list of hashes: the path has one of these contents;
   * - `*`: the path exists;
   * - `none`: the path does not exist;
   * - `undefined`: there is no condition.
   */
  readonly ifMatch: string | readonly string[] | undefined;
  /** The hash of everything that the request asks for. A repeated request is recognised by this hash. */
  readonly asked: Hash;
  /** A text for people that says what the write does, such as `write src/a.ts`. */
  readonly summary: string;
}

export interface ReadyPut extends Ready {
  readonly kind: "put";
  readonly content: ReceivedContent;
  readonly link: boolean;
  readonly permissions: number | undefined;
}

export interface ReadyFolder extends Ready {
  readonly kind: "folder";
  readonly permissions: number | undefined;
}

export interface ReadyDelete extends Ready {
  readonly kind: "delete";
}

export interface ReadyMove extends Ready {
  readonly kind: "move";
  readonly to: WorkspacePath;
  readonly overwrite: boolean;
}

/**
 * Checks a write and receives its content. Returns a promise only if the content must be awaited. Other writes of a
 * caller therefore stay in the order of the calls. Throws `PATH_INVALID` if a path cannot be written, and `USAGE` if an
 * option is malformed. Also throws the errors of `receiveContent`.
 */
export function readyWrite(context: Context, write: FileWrite, caller: Caller): ReadyWrite | Promise<ReadyWrite> {
  const path = writablePath(context, write.path);
  const base = {
    path,
    by: { caller, ...whose({ ...optional({ requestId: caller.requestId }), ...write.options }) },
    ifMatch: conditionOf(write),
  };
  switch (write.kind) {
    case "put":
      return readyPut(context, write, base);
    case "folder": {
      const permissions = permissionsOf(write.options.permissions);
      const asked = askedFor(base, { kind: "folder", permissions });
      return { kind: "folder", ...base, permissions, asked, summary: summaryOf("make folder", path) };
    }
    case "delete": {
      const asked = askedFor(base, { kind: "delete" });
      return { kind: "delete", ...base, asked, summary: summaryOf("delete", path) };
    }
    case "move": {
      const to = writablePath(context, write.to);
      const overwrite = write.options.overwrite === true;
      const asked = askedFor(base, { kind: "move", to, overwrite });
      const summary = `${summaryOf("move", path)} to ${shownPath(to)}`;
      return { kind: "move", ...base, to, overwrite, asked, summary };
    }
  }
}

function readyPut(
  context: Context,
  { content, options }: Extract<FileWrite, { readonly kind: "put" }>,
  base: Pick<Ready, "path" | "by" | "ifMatch">,
): ReadyPut | Promise<ReadyPut> {
  const link = options.kind === "symlink";
  const permissions = permissionsOf(options.permissions);
  const ready = (received: ReceivedContent): ReadyPut => {
    if (link) checkTarget(received);
    const asked = askedFor(base, { kind: "put", hash: received.hash, link, permissions });
    const summary = summaryOf("write", base.path);
    return { kind: "put", ...base, content: received, link, permissions, asked, summary };
  };
  const { maxFileSize } = rootOf(context, base.path).limits;
  const received = receiveContent(context, content, { maxFileSize, requestId: base.by.requestId });
  return received instanceof Promise ? received.then(ready) : ready(received);
}

/** Returns the tracked root in which a path lies. Throws `PATH_INVALID` if there is none. */
export function rootOf({ worktree }: Pick<Context, "worktree">, path: WorkspacePath): TrackedRoot {
  const { root: id } = splitRoot(path);
  const root = worktree.roots.find((one) => one.id === id);
  if (root !== undefined) return root;
  throw new ChronicleError("PATH_INVALID", `the workspace has no root ${JSON.stringify(id)}`, {
    hint: "leave `@<root>:` out for the workspace's own folder",
    data: { path: displayPath(path) },
  });
}

function writablePath(context: Context, given: string): WorkspacePath {
  const path = parseGivenPath(given);
  const { path: inner } = splitRoot(path);
  const root = rootOf(context, path);
  if (inner === "") throw unwritable(path, { reason: "it is the root", hint: "give the path of a file in the root" });
  if (!isHeldBy(root, inner))
    throw unwritable(path, {
      reason: `only ${root.only} is tracked there`,
      hint: `write to ${root.only}, or add a folder that contains the path to the workspace`,
    });
  const trouble = tooLong(path);
  if (trouble !== undefined) throw unwritable(path, trouble);
  return path;
}

/** The maximum length, in UTF-16 code units, of the names of actors and sessions. */
const MOST_CHARS = 1_000;

function whose({ actor, session, requestId }: WriteBy): WriteBy {
  const most = { actor: MOST_CHARS, session: MOST_CHARS, requestId: MOST_REQUEST_CHARS };
  for (const [key, value] of Object.entries({ actor, session, requestId })) {
    if (value === undefined) continue;
    const limit = most[key as keyof typeof most];
    if (typeof value === "string" && value !== "" && value.length <= limit && value.isWellFormed()) continue;
    throw new ChronicleError("USAGE", `the ${key} of a write is empty, too long or not well-formed text`, {
      hint: `give up to ${limit} characters, or leave it out`,
    });
  }
  checkActorName(actor);
  checkVisible("session", session);
  return {
    ...optional({ actor, session, requestId }),
  };
}

/**
 * Returns the condition of a write. A list is sorted, without duplicates, so that equal conditions give the same hash
 * of the request (`Ready.asked`). Throws `USAGE` if the condition is malformed.
 */
function conditionOf({ kind, options }: FileWrite): string | readonly string[] | undefined {
  const ifMatch = kind === "folder" ? undefined : options.ifMatch;
  const isOne = (hash: string): boolean => hash === "" || isHash(hash);
  if (ifMatch === undefined || ifMatch === "*" || ifMatch === "none") return ifMatch;
  if (typeof ifMatch === "string" ? isOne(ifMatch) : ifMatch.length > 0 && ifMatch.every(isOne))
    return typeof ifMatch === "string" ? ifMatch : [...new Set(ifMatch)].sort();
  throw new ChronicleError(
    "USAGE",
    `the condition of the write is malformed: ${JSON.stringify(ifMatch).slice(0, 100)}`,
    {
      hint: "give the hash of the expected content, `*` if the path must exist, or `none` if it must not exist",
    },
  );
}

const MAX_MODE = 0o777;

function permissionsOf(value: number | undefined): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0 && value <= MAX_MODE)) return value;
  throw new ChronicleError("USAGE", `the permissions ${value} are not permission bits`, {
    hint: "give a number from 0 to 0o777 (511)",
  });
}

/** The maximum length, in bytes, of the target of a link. */
const MAX_TARGET_BYTES = 4_095;

function checkTarget({ size, bytes, lease }: ReceivedContent): void {
  if (bytes !== undefined && size > 0 && size <= MAX_TARGET_BYTES && !bytes.includes(0)) return;
  lease?.release();
  throw new ChronicleError(
    "USAGE",
    "the content cannot be the target of a link: it is empty, too long, or contains a NUL byte",
    {
      hint: `give the path that the link names, of up to ${MAX_TARGET_BYTES} bytes`,
    },
  );
}

/** Returns the hash by which a repeated request is recognised. */
function askedFor({ path, ifMatch }: Pick<Ready, "path" | "ifMatch">, what: Readonly<Record<string, unknown>>): Hash {
  const all = {
    ...what,
    path: bytesOf(path),
    ...(what["to"] === undefined ? {} : { to: bytesOf(what["to"]) }),
    ifMatch,
  };
  // The round trip through JSON drops fields that are `undefined`.
  return sha256(canonicalJson(JSON.parse(JSON.stringify(all)) as Json));
}

/** Returns the bytes of a path in Base64, because canonical JSON cannot represent every path. */
function bytesOf(path: unknown): string {
  return pathToBytes(String(path)).toString("base64");
}

function summaryOf(verb: string, path: WorkspacePath): string {
  return `${verb} ${shownPath(path)}`;
}

/**
 * Returns the mode of the file or link that a put makes. Without `permissions`, a file gets `before` (the mode of the
 * file that the put replaces), or else 0o644.
 */
export function modeOfPut({ link, permissions }: ReadyPut, before: number | undefined): number {
  return link ? SYMLINK_MODE : (permissions ?? before ?? 0o644);
}

/**
 * The maximum size, in bytes, of a content that stays in memory until the next commit. Longer contents are stored while
 * they arrive.
 */
const BUFFERED_BYTES = 1024 * 1024;

interface ReceivedContent {
  readonly hash: Hash;
  readonly size: number;
  readonly bytes?: Uint8Array;
  /** The lease that protects the content from garbage collection until an event names the content. */
  readonly lease?: HeldLock;
  /**
   * True if the content was only hashed, because a request with this id was done before. The hash shows whether both
   * requests are the same.
   */
  readonly onlyCompared?: true;
}

interface ReceiveOptions {
  /** The maximum size of the content, in bytes; 0 if there is no limit. */
  readonly maxFileSize: number;
  readonly requestId?: string | undefined;
}

/**
 * Receives a content of any size in bounded memory. A short content is returned with its bytes. A longer content is
 * made durable in the store, or is only hashed if its request was done before. Returns no promise if the content is
 * short and given as one `Uint8Array`.
 *
 * Throws `LIMIT_EXCEEDED` as soon as the content is longer than `maxFileSize`, or exceeds the quota while it is stored.
 * For short contents, `writeTogether` checks the quota. Throws `USAGE` if a piece of the content is not a `Uint8Array`.
 * Also throws any error of the content's source.
 */
function receiveContent(
  context: Context,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { maxFileSize, requestId }: ReceiveOptions,
): ReceivedContent | Promise<ReceivedContent> {
  if (!(content instanceof Uint8Array)) return receiveStream(context, limited(content, maxFileSize), requestId);
  refuseTooLong(content.length, maxFileSize);
  // The bytes are copied, because the caller may reuse the array.
  return content.length <= BUFFERED_BYTES ? buffered(Buffer.from(content)) : stored(context, [content], requestId);
}

async function receiveStream(
  context: Context,
  content: AsyncIterable<Uint8Array>,
  requestId: string | undefined,
): Promise<ReceivedContent> {
  const pieces = content[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const next = await pieces.next();
    if (next.done === true) return buffered(Buffer.concat(first, size));
    first.push(Buffer.from(next.value));
    size += next.value.length;
    if (size > BUFFERED_BYTES) return stored(context, joined(first, pieces), requestId);
  }
}

function buffered(bytes: Buffer): ReceivedContent {
  return { hash: sha256(bytes), size: bytes.length, bytes };
}

async function stored(
  context: Context,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  requestId: string | undefined,
): Promise<ReceivedContent> {
  if (requestId !== undefined && (await wasDone(context, requestId))) return compared(pieces);
  const lease = await context.blobs.lease();
  try {
    const put = await withBatch(context.blobs, (batch) => batch.putStream(withinQuota(context, pieces)));
    return { ...put, lease };
  } catch (error) {
    lease.release();
    throw error;
  }
}

function wasDone(context: Context, requestId: string): Promise<boolean> {
  return answer(context, async () => (await doneRequest(context, intentOfRequest(requestId))) !== undefined);
}

/** Hashes a content without storing it. The quota is therefore not checked. */
async function compared(pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<ReceivedContent> {
  const digest = createHash("sha256");
  let size = 0;
  for await (const piece of pieces) {
    digest.update(piece);
    size += piece.length;
  }
  return { hash: parseHash(digest.digest("hex")), size, onlyCompared: true };
}

async function* joined(first: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* first;
    for (;;) {
      const next = await rest.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

async function* withinQuota(
  context: Context,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    refuseOverQuota(context, piece.length);
    yield piece;
  }
}

async function* limited(pieces: AsyncIterable<Uint8Array>, maxFileSize: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) {
      throw new ChronicleError("USAGE", "a content must be given as pieces of bytes", { hint: "give Uint8Arrays" });
    }
    size += piece.length;
    refuseTooLong(size, maxFileSize);
    yield piece;
  }
}

function refuseTooLong(size: number, maxFileSize: number): void {
  if (maxFileSize === 0 || size <= maxFileSize) return;
  throw new ChronicleError("LIMIT_EXCEEDED", `the content is longer than ${maxFileSize} bytes (maxFileSize)`, {
    hint: "the workspace's maxFileSize limits its files; `chronicle config maxFileSize` changes it",
    data: { limit: maxFileSize },
  });
}

/** A write as the caller asks for it, before it is checked. */
export type FileWrite =
  | {
      readonly kind: "put";
      readonly path: string;
      readonly content: Uint8Array | AsyncIterable<Uint8Array>;
      readonly options: PutFileOptions;
    }
  | { readonly kind: "folder"; readonly path: string; readonly options: WriteBy & { readonly permissions?: number } }
  | { readonly kind: "delete"; readonly path: string; readonly options: WriteCondition & WriteBy }
  | {
      readonly kind: "move";
      readonly path: string;
      readonly to: string;
      readonly options: WriteCondition & WriteBy & { readonly overwrite?: boolean };
    };
