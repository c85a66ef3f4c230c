import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import { ChronicleError } from "../values/errors.ts";
import { type Hash, hashFromBytes, hashToBytes, isHash, sha256Bytes } from "../values/hash.ts";

/**
 * The signed head: a C2SP tlog-checkpoint in a signed note (c2sp.org/tlog-checkpoint, c2sp.org/signed-note).
 *
 *     chronicle/<workspace id>          the origin
 *     <seq>                             the number of events, decimal
 *     <base64 of the log root>
 *     head <hash of the last event>     64 hex digits; an extension line
 *     root <Merkle root at that seq>    64 hex digits; an extension line
 *                                       an empty line ends the text
 *     — <key name> <base64 of key id (4 bytes) ‖ Ed25519 signature of the text (64 bytes)>
 *
 * Any tool for signed notes can check the signature with the verifier key
 * `<name>+<key id hex>+<base64 of 0x01 ‖ public key>`.
 */

export interface SignedHeadContent {
  readonly workspace: string;
  /** The seq of the last event, which is the number of events. At least 1. */
  readonly seq: number;
  /** The hash of the last event. */
  readonly hash: Hash;
  /** The RFC 6962 root over all events up to `seq`. */
  readonly logRoot: Hash;
  /** The Merkle root of the workspace's files at `seq`. */
  readonly root: Hash;
}

/** One signature line. The name and the key id prove nothing until the signature is checked with a verifier key. */
interface NoteSignature {
  readonly name: string;
  /** The id of the key, as 8 hex digits. */
  readonly keyId: string;
  readonly signature: Buffer;
}

/** A parsed note whose signatures have not been checked. */
export interface ParsedSignedHead {
  readonly content: SignedHeadContent;
  /** The exact signed text, including its last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** A key pair, in PEM (PKCS #8 and SPKI). */
export interface SigningKey {
  readonly privateKeyPem: string;
  readonly publicKeyPem: string;
}

const ORIGIN = "chronicle/";
const ED25519 = 1;
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const WORKSPACE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const KEY_NAME = /^[^\s+\p{Cc}]{1,255}$/u;
// Signed notes must not have control characters below U+0020, except the newline.
const CONTROL = /[^\P{Cc}\n\u007f-\u009f]/u;
const MAX_NOTE_CHARS = 1_000_000;
const MAX_SIGNATURES = 100;

function malformed(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `not a signed head: ${reason}`);
}

export function generateKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicKeyPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

/**
 * Returns the text of a note, which is the part that is signed. Throws `INTEGRITY_VIOLATION` for content that a note
 * cannot represent (seq 0, an invalid id or hash).
 */
export function encodeHead({ workspace, seq, hash, logRoot, root }: SignedHeadContent): string {
  if (!WORKSPACE_ID.test(workspace)) malformed(`${JSON.stringify(workspace)} is not a workspace id`);
  if (!Number.isSafeInteger(seq) || seq < 1) malformed(`its size is ${seq}`);
  for (const one of [hash, logRoot, root]) if (!isHash(one)) malformed(`${JSON.stringify(one)} is not a hash`);
  return `${ORIGIN}${workspace}\n${seq}\n${hashToBytes(logRoot).toString("base64")}\nhead ${hash}\nroot ${root}\n`;
}

/**
 * Signs a text that `encodeHead` has returned, and returns the whole note. `keyName` is the name by which verifiers
 * know the key, for example `chronicle/<workspace id>` or a host name. The name must have no spaces and no `+`. Throws
 * `USAGE` for an invalid name, for a key that cannot be read, and for a key that is not an Ed25519 key.
 */
export function signHead(text: string, privateKeyPem: string, keyName: string): string {
  const key = readKey(() => createPrivateKey(privateKeyPem));
  const id = keyIdOf(checkName(keyName), rawKey(createPublicKey(key)));
  const signature = sign(null, Buffer.from(text), key);
  return `${text}\n— ${keyName} ${Buffer.concat([id, signature]).toString("base64")}\n`;
}

/**
 * Returns the verifier key of a public key: `<name>+<key id>+<base64>`. If `publicKey` is a text, it is the PEM of the
 * public key or of its private key. Throws `USAGE` for an invalid key or name.
 */
export function vkeyOf(publicKey: string | KeyObject, name: string): string {
  const raw = rawKey(typeof publicKey === "string" ? readKey(() => createPublicKey(publicKey)) : publicKey);
  const id = keyIdOf(checkName(name), raw).toString("hex");
  return `${name}+${id}+${typedKey(raw).toString("base64")}`;
}

function readKey(read: () => KeyObject): KeyObject {
  try {
    return read();
  } catch (cause) {
    throw new ChronicleError("USAGE", "the key cannot be read as PEM", { cause });
  }
}

function rawKey(key: KeyObject): Buffer {
  if (key.asymmetricKeyType !== "ed25519") throw new ChronicleError("USAGE", "the key is not an Ed25519 key");
  return key.export({ type: "spki", format: "der" }).subarray(-32);
}

function typedKey(raw: Buffer): Buffer {
  return Buffer.concat([Buffer.from([ED25519]), raw]);
}

function checkName(name: string): string {
  if (KEY_NAME.test(name)) return name;
  throw new ChronicleError("USAGE", `not a key name: ${JSON.stringify(name)}`, {
    hint: "give a name without spaces and without +",
  });
}

function keyIdOf(name: string, raw: Buffer): Buffer {
  return sha256Bytes(Buffer.concat([Buffer.from(`${name}\n`), typedKey(raw)])).subarray(0, 4);
}

/**
 * Decodes base64. Returns `undefined` for text that is not canonical base64, or that does not encode `length` bytes.
 */
function fromBase64(text: string, length?: number): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  const same = bytes.toString("base64") === text;
  return same && (length === undefined || bytes.length === length) ? bytes : undefined;
}

/**
 * Parses a note. Checks the form of the note, but not the signatures. Throws `INTEGRITY_VIOLATION` for a malformed
 * note.
 */
export function parseSignedHead(note: string): ParsedSignedHead {
  if (note.length > MAX_NOTE_CHARS || !note.isWellFormed()) malformed("it is too long or not text");
  if (CONTROL.test(note)) malformed("it has a control character");
  const end = note.lastIndexOf("\n\n");
  if (end < 0 || !note.endsWith("\n")) malformed("no empty line ends its text");
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) malformed(`it has more than ${MAX_SIGNATURES} signatures`);
  return { content: decodeHead(text), text, signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): NoteSignature {
  const [mark, name, base64, ...more] = line.split(" ");
  if (mark !== "—" || name === undefined || base64 === undefined || more.length > 0 || !KEY_NAME.test(name)) {
    return malformed(`${JSON.stringify(line.slice(0, 80))} is not a signature line`);
  }
  const bytes = fromBase64(base64);
  if (bytes === undefined || bytes.length <= 4) return malformed("a signature is not base64");
  return { name, keyId: bytes.subarray(0, 4).toString("hex"), signature: bytes.subarray(4) };
}

function decodeHead(text: string): SignedHeadContent {
  const [origin = "", size = "", base64 = "", ...extensions] = text.slice(0, -1).split("\n");
  if (!origin.startsWith(ORIGIN)) malformed(`its origin is ${JSON.stringify(origin.slice(0, 80))}`);
  const logRoot = fromBase64(base64, 32);
  if (extensions.includes("")) malformed("it has an empty line");
  if (!/^[1-9]\d{0,15}$/.test(size) || logRoot === undefined)
    return malformed("its size is not a number of events, or its log root is not a hash in base64");
  const content: SignedHeadContent = {
    workspace: origin.slice(ORIGIN.length),
    seq: Number(size),
    hash: extension(extensions, "head"),
    logRoot: hashFromBytes(logRoot),
    root: extension(extensions, "root"),
  };
  // Further extension lines may follow. Such lines are signed, but this version ignores them.
  if (!text.startsWith(encodeHead(content))) malformed("its lines are not in order");
  return content;
}

function extension(lines: readonly string[], name: string): Hash {
  const value = lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? "";
  return isHash(value) ? value : malformed(`it has no ${name} line`);
}

/** `unknown-key` means that no signature in the note has the name and id of the verifier key. */
export type SignatureVerdict = "valid" | "invalid" | "unknown-key";

/**
 * Checks a note's signature with a verifier key (`vkeyOf`). Ignores signatures of other keys. If the note has several
 * signatures of the key, all of them must be valid. A malformed note is `invalid`. Throws `USAGE` for a malformed
 * verifier key.
 */
export function judgeSignature(note: string, vkey: string): SignatureVerdict {
  const { name, keyId, key } = parseVkey(vkey);
  let parsed: ParsedSignedHead;
  try {
    parsed = parseSignedHead(note);
  } catch {
    return "invalid";
  }
  const own = parsed.signatures.filter((one) => one.name === name && one.keyId === keyId);
  if (own.length === 0) return "unknown-key";
  const text = Buffer.from(parsed.text);
  const isGood = own.every((one) => one.signature.length === 64 && verify(null, text, key, one.signature));
  return isGood ? "valid" : "invalid";
}

/** Returns true if `judgeSignature` returns `valid`. Throws `USAGE` for a malformed verifier key. */
export function verifySignedHead(note: string, vkey: string): boolean {
  return judgeSignature(note, vkey) === "valid";
}

/** Returns true if the text is a verifier key. Whitespace around the key is not allowed. */
export function isVerifierKey(text: string): boolean {
  try {
    parseVkey(text);
    return text.trim() === text;
  } catch (error) {
    if (error instanceof ChronicleError) return false;
    throw error;
  }
}

function parseVkey(vkey: string): { readonly name: string; readonly keyId: string; readonly key: KeyObject } {
  const [, name = "", keyId = "", base64 = ""] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey.trim()) ?? [];
  const typed = fromBase64(base64, 33);
  const raw = typed?.[0] === ED25519 ? typed.subarray(1) : undefined;
  if (raw === undefined || !KEY_NAME.test(name) || keyIdOf(name, raw).toString("hex") !== keyId) {
    throw new ChronicleError("USAGE", `not a verifier key: ${JSON.stringify(vkey.slice(0, 200))}`, {
      hint: "a verifier key looks like <name>+<8 hex digits>+<base64>, as `chronicle head --json` prints it in `key`",
    });
  }
  const der = Buffer.concat([SPKI_PREFIX, raw]);
  return { name, keyId, key: createPublicKey({ key: der, format: "der", type: "spki" }) };
}

/** A head that was kept outside of the store. The history can be checked against this head. */
export interface ExpectedHead extends SignedHeadContent {
  /** The signed note, whose signature has not been checked; omitted if no note was kept. */
  readonly note?: string;
  /**
   * The verifier key that was kept with the head; omitted if none was kept. The key is only as trustworthy as the place
   * where it was kept.
   */
  readonly key?: string;
}

function notAHead(reason: string, cause?: unknown): never {
  throw new ChronicleError("USAGE", `not a head: ${reason}`, {
    hint: "give a signed head (a note) or what `chronicle head --json` printed",
    cause,
  });
}

/**
 * Parses a kept head: a signed note, or the JSON object `{workspace, seq, hash, log_root, root, note?, key?}`. Throws
 * `USAGE` for anything else, and `INTEGRITY_VIOLATION` if the note in the JSON is malformed or contradicts the JSON.
 */
export function parseExpected(text: string): ExpectedHead {
  if (text.trimStart().startsWith("{")) return parseJsonHead(text);
  if (text.includes("\r")) return notAHead("it has carriage returns; save it with line ends of LF, as it was printed");
  try {
    return { ...parseSignedHead(text).content, note: text };
  } catch (cause) {
    return notAHead(cause instanceof Error ? cause.message : "it cannot be read", cause);
  }
}

function parseJsonHead(text: string): ExpectedHead {
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    return notAHead("it is not JSON", cause);
  }
  const { workspace, seq, hash, log_root: logRoot, root, note, key } = value;
  if (typeof workspace !== "string" || typeof seq !== "number") return notAHead("workspace or seq is missing");
  const [hashText, logRootText, rootText] = [hash, logRoot, root].map((one) => (typeof one === "string" ? one : ""));
  if (!isHash(hashText ?? "") || !isHash(logRootText ?? "") || !isHash(rootText ?? "")) {
    return notAHead("hash, log_root or root is missing or not a SHA-256 in lower-case hex");
  }
  const content = { workspace, seq, hash: hashText, logRoot: logRootText, root: rootText } as SignedHeadContent;
  if (typeof note === "string" && !parseSignedHead(note).text.startsWith(encodeHead(content))) {
    throw new ChronicleError("INTEGRITY_VIOLATION", "the signed note contradicts the JSON around it");
  }
  return { ...content, ...(typeof note === "string" ? { note } : {}), ...(typeof key === "string" ? { key } : {}) };
}
