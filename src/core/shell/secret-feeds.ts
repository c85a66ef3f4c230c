/**
 * Finds the secrets that a shell line passes to a program's standard input: by a pipe (`echo … | docker login
 * --password-stdin`), a here-string or a here-document. The line comes in pieces, as `mask-secrets.ts` splits it.
 */

/** A simple command: its range of pieces, and the separators between it and the previous command. */
interface Piped {
  readonly from: number;
  to: number;
  readonly before: string;
}

const END = /^[;|&()]$/;
const PIPE = /^\)*\|&?\n*\(*$/;
/** A flag that makes a program read a secret from its standard input. */
const STDIN_FLAG =
  /^--(?:[a-z-]*(?:password|passwd|passphrase|pass|token|secret|key)-stdin|with-token|password-stdin)$/;

/** Programs that do so if every one of these words is in the command. */
const READERS: readonly (readonly [program: string, ...words: RegExp[]])[] = [
  ["chpasswd"],
  ["sudo", /^-[a-zA-Z]*S|^--stdin$/],
  ["passwd", /^--stdin$/],
  ["smbpasswd", /^-[a-z]*s/],
  ["htpasswd", /^-[a-zA-Z]*i/],
  ["openssl", /^-pass(?:in|out|word)?$/, /^(?:stdin|fd:0)$/],
  ["gpg", /^--passphrase-fd(?:=0)?$/],
  ["cryptsetup", /^(?:open|luksOpen|luksFormat|luksAddKey)$/],
  ["vault", /^login$/, /^-$/],
  ["gh", /^secret$/, /^set$/],
  ["glab", /^login$/, /^--stdin$/],
  ["wrangler", /^secret$/, /^put$/],
  ["docker", /^secret$/, /^create$/],
  ["podman", /^secret$/, /^create$/],
  ["kubectl", /^secret$/, /\/dev\/stdin$/],
  ["gcloud", /^secrets$/, /^--data-file=(?:-|\/dev\/stdin)$/],
  ["secret-tool", /^store$/],
  ["pass", /^insert$/],
  ["kinit"],
  ["wg", /^pubkey$/],
];
const SAYERS = new Set(["echo", "printf", "print", "Write-Output"]);
/** The words of an `echo` that stay readable: flags, formats of `printf`, variables. */
const PLAIN = /^(?:-[neErs]+|(?:%s|%b|\\[nrt0])+|\$\{?\w+\}?)$/;

/** Returns the indexes of the pieces that are such secrets. */
export function fedPieces(pieces: readonly string[]): ReadonlySet<number> {
  const fed = new Set<number>();
  const commands = commandsOf(pieces);
  for (const [at, command] of commands.entries()) {
    const words = wordsOf(pieces, command);
    if (!readsSecret(words)) continue;
    feedBack(pieces, { commands, at, fed });
    if (feedHere(pieces, command, fed) === "to the end") break;
  }
  return fed;
}

function commandsOf(pieces: readonly string[]): Piped[] {
  const commands: Piped[] = [];
  let before = "";
  let last: Piped | undefined;
  for (const [at, piece] of pieces.entries()) {
    const isBlank = /^\s+$/.test(piece);
    if (END.test(piece) || (isBlank && piece.includes("\n"))) {
      before += isBlank ? "\n" : piece;
      last = undefined;
    } else if (last !== undefined) last.to = at + 1;
    else if (!isBlank) {
      last = { from: at, to: at + 1, before };
      commands.push(last);
      before = "";
    }
  }
  return commands;
}

function unquoted(piece: string): string {
  return /^(["'])([^]*)\1$/.exec(piece)?.[2] ?? piece;
}

function wordsOf(pieces: readonly string[], { from, to }: Piped): string[] {
  return pieces
    .slice(from, to)
    .filter((piece) => !/^\s+$/.test(piece))
    .map(unquoted);
}

function readsSecret(words: readonly string[]): boolean {
  if (words.some((word) => STDIN_FLAG.test(word))) return true;
  const programs = new Set(words.map((word) => word.slice(word.lastIndexOf("/") + 1)));
  return READERS.some(
    ([program, ...needed]) => programs.has(program) && needed.every((one) => words.some((word) => one.test(word))),
  );
}

interface Feeding {
  readonly commands: readonly Piped[];
  readonly at: number;
  readonly fed: Set<number>;
}

/** Marks the words printed earlier in the command's pipeline, back to another command that reads a secret. */
function feedBack(pieces: readonly string[], { commands, at, fed }: Feeding): void {
  let inGroup = false;
  for (let k = at; k > 0; k -= 1) {
    const { before } = commands[k] ?? { before: "" };
    const source = commands[k - 1];
    if (source === undefined || (!inGroup && !PIPE.test(before))) return;
    const words = wordsOf(pieces, source);
    if (!before.startsWith(")") && readsSecret(words)) return;
    if (before.startsWith(")") || words[0] === "}") inGroup = true;
    markSaid(pieces, source, fed);
    if (source.before.includes("(") || words[0] === "{") inGroup = false;
  }
}

/** Marks the words of an `echo` or similar command. */
function markSaid(pieces: readonly string[], { from, to }: Piped, fed: Set<number>): void {
  let said = false;
  for (let at = from; at < to; at += 1) {
    const piece = pieces[at] ?? "";
    if (/^[<>]$/.test(piece)) return;
    if (/^\s+$/.test(piece)) continue;
    const word = unquoted(piece);
    if (said && !PLAIN.test(word)) fed.add(at);
    said ||= SAYERS.has(word);
  }
}

/** Marks the text of a here-string or here-document. */
function feedHere(pieces: readonly string[], { from, to }: Piped, fed: Set<number>): "to the end" | "done" {
  for (let at = from; at < to; at += 1) {
    if (pieces[at] !== "<" || pieces[at + 1] !== "<") continue;
    const isString = pieces[at + 2] === "<";
    let word = at + (isString ? 3 : 2);
    while (word < to && /^\s+$/.test(pieces[word] ?? "")) word += 1;
    if (word >= to) return "done";
    if (!isString)
      return markDocument(pieces, { from: to, end: unquoted((pieces[word] ?? "").replace(/^-/, "")) }, fed);
    if (!PLAIN.test(unquoted(pieces[word] ?? ""))) fed.add(word);
    at = word;
  }
  return "done";
}

function markDocument(
  pieces: readonly string[],
  { from, end }: { readonly from: number; readonly end: string },
  fed: Set<number>,
): "to the end" | "done" {
  let begins = false;
  for (let at = from; at < pieces.length; at += 1) {
    const piece = pieces[at] ?? "";
    const isBlank = /^\s+$/.test(piece);
    if (isBlank) begins ||= piece.includes("\n");
    else if (
      begins &&
      piece === end &&
      /^\s*\n|^$/.test(pieces[at + 1] ?? "") &&
      (pieces[at - 1] ?? "").includes("\n")
    ) {
      return "done";
    } else if (begins) fed.add(at);
  }
  return "to the end";
}
