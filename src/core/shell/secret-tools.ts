// The ways in which well-known programs take secrets on their command line: by a flag, or by the position of a word.

/**
 * A flag with which a program takes a secret. `takes` is the form of the secret:
 * - `next`: the next argument, or the rest of the flag's own argument (`-pX`)
 * - `apart`: only the next argument
 * - `attached`: only the rest of the flag's own argument
 * - `user`: `user:secret`
 * - `percent`: `user%secret`
 * - `source`: one of OpenSSL's sources (`pass:…`, `env:…`, `file:…`)
 * - `pair`: `name=secret`
 * - `nothing`: no secret. The flag looks like the name of a secret, but takes no value
 */
export interface ToolFlag {
  readonly flags: readonly string[];
  readonly takes: "next" | "apart" | "attached" | "user" | "percent" | "source" | "pair" | "nothing";
  /** The subcommand after which the flag takes a secret. Default: the flag always takes a secret. */
  readonly after?: string;
}

/** A position at which a program takes secrets on its command line without a flag. */
export interface ToolWords {
  /** The words that precede the secret, in this order. Flags and other words may be between these words. */
  readonly after: readonly string[];
  /**
   * The words that are secret.
   * - A number: all words from this position on, except `NAME=VALUE` and `-`. Position 1 is the next word after the
   *   last word of `after`. Flags are not counted.
   * - `value`: if the next word is the name of a secret, all words after that name.
   * - `values`: the value of each `NAME=VALUE`.
   * - `named`: all words after the first name of a secret.
   */
  readonly secret: number | "value" | "values" | "named";
  /**
   * Only if `secret` is a number: a pattern. The words are secret only if an earlier word of the command matches the
   * pattern.
   */
  readonly flag?: RegExp;
}

const DATABASE: readonly ToolFlag[] = [{ flags: ["-p"], takes: "attached" }];
const LOGIN: ToolFlag = { flags: ["-p"], takes: "next", after: "login" };
const DASH_P: readonly ToolFlag[] = [{ flags: ["-p"], takes: "next" }];
const DASH_CAPITAL_P: readonly ToolFlag[] = [{ flags: ["-P"], takes: "next" }];
const DASH_W: readonly ToolFlag[] = [{ flags: ["-w"], takes: "next" }];
const PERCENT: readonly ToolFlag[] = [{ flags: ["-U", "--user"], takes: "percent" }];
const PUBLISH: readonly ToolFlag[] = [{ flags: ["-p"], takes: "next", after: "publish" }];
const AUTH: readonly ToolFlag[] = [{ flags: ["-a", "--auth"], takes: "user" }];
const REGISTRY: readonly ToolFlag[] = [LOGIN, { flags: ["--creds", "--src-creds", "--dest-creds"], takes: "user" }];

/** Maps the name of a program to the flags with which the program takes secrets. */
export const TOOL_FLAGS: Readonly<Record<string, readonly ToolFlag[]>> = {
  "7z": DATABASE,
  "7za": DATABASE,
  "7zr": DATABASE,
  "7zz": DATABASE,
  az: [LOGIN],
  bcp: DASH_CAPITAL_P,
  buildah: REGISTRY,
  cf: [LOGIN],
  cosign: [LOGIN],
  cqlsh: DASH_P,
  crane: [LOGIN],
  curl: [
    { flags: ["-u", "--user", "-U", "--proxy-user", "-E", "--cert", "--proxy-cert"], takes: "user" },
    { flags: ["-b"], takes: "pair" },
  ],
  docker: REGISTRY,
  gh: [{ flags: ["-b", "--body"], takes: "next", after: "secret" }],
  groupadd: DASH_P,
  groupmod: DASH_P,
  helm: [LOGIN],
  http: AUTH,
  https: AUTH,
  ibmcloud: [LOGIN],
  ipmitool: DASH_CAPITAL_P,
  kubectl: [{ flags: ["--from-literal"], takes: "pair", after: "secret" }],
  ldapadd: DASH_W,
  ldapcompare: DASH_W,
  ldapdelete: DASH_W,
  ldapexop: DASH_W,
  ldapmodify: DASH_W,
  ldapmodrdn: DASH_W,
  ldappasswd: [{ flags: ["-w", "-s", "-a"], takes: "next" }],
  ldapsearch: DASH_W,
  ldapwhoami: DASH_W,
  mariadb: DATABASE,
  "mariadb-admin": DATABASE,
  "mariadb-dump": DATABASE,
  "mariadb-import": DATABASE,
  maturin: [...PUBLISH, { flags: ["-p"], takes: "next", after: "upload" }],
  mongo: DASH_P,
  mongodump: DASH_P,
  mongoexport: DASH_P,
  mongofiles: DASH_P,
  mongoimport: DASH_P,
  mongorestore: DASH_P,
  mongosh: DASH_P,
  mongostat: DASH_P,
  mongotop: DASH_P,
  mosquitto_pub: DASH_CAPITAL_P,
  mosquitto_rr: DASH_CAPITAL_P,
  mosquitto_sub: DASH_CAPITAL_P,
  mysql: DATABASE,
  mysqladmin: DATABASE,
  mysqlcheck: DATABASE,
  mysqldump: DATABASE,
  mysqlimport: DATABASE,
  mysqlpump: DATABASE,
  mysqlshow: DATABASE,
  mysqlslap: DATABASE,
  nerdctl: REGISTRY,
  oc: [LOGIN, { flags: ["--from-literal"], takes: "pair", after: "secret" }],
  openssl: [
    { flags: ["-k", "-K", "-hmac"], takes: "apart" },
    { flags: ["-pass", "-passin", "-passout", "-password"], takes: "source" },
  ],
  oras: REGISTRY,
  pdm: [{ flags: ["-P"], takes: "next", after: "publish" }],
  podman: REGISTRY,
  poetry: PUBLISH,
  pulumi: [{ flags: ["--secret"], takes: "nothing" }],
  rar: DATABASE,
  "redis-cli": [{ flags: ["-a"], takes: "next" }],
  regctl: [LOGIN],
  rpcclient: PERCENT,
  security: [
    { flags: ["-w"], takes: "next", after: "add-generic-password" },
    { flags: ["-w"], takes: "next", after: "add-internet-password" },
    { flags: ["-p"], takes: "next", after: "unlock-keychain" },
    { flags: ["-P"], takes: "next", after: "import" },
  ],
  skopeo: REGISTRY,
  smbcacls: PERCENT,
  smbclient: PERCENT,
  smbget: PERCENT,
  sqlcmd: DASH_CAPITAL_P,
  sshpass: [...DASH_P, ...DATABASE],
  "ssh-keygen": [{ flags: ["-N", "-P"], takes: "next" }],
  twine: DASH_P,
  unrar: DATABASE,
  unzip: DASH_CAPITAL_P,
  useradd: DASH_P,
  usermod: DASH_P,
  uv: [{ flags: ["-t", "-p"], takes: "next", after: "publish" }],
  "valkey-cli": [{ flags: ["-a"], takes: "next" }],
  xh: AUTH,
  xhs: AUTH,
  zip: DASH_CAPITAL_P,
};

const AFTER_LOGIN: ToolWords = { after: ["login"], secret: 1 };
const CONFIG_SET: readonly ToolWords[] = [{ after: ["config", "set"], secret: "value" }];
const CONFIG: readonly ToolWords[] = [{ after: ["config"], secret: "value" }];
const SECRETS_SET: readonly ToolWords[] = [
  { after: ["secrets", "set"], secret: "values" },
  { after: ["secrets", "import"], secret: "values" },
];
const SETS: readonly ToolWords[] = [{ after: [], secret: "value" }];

/** Maps the name of a program to the positions at which the program takes secrets without a flag. */
export const TOOL_WORDS: Readonly<Record<string, readonly ToolWords[]>> = {
  aws: [{ after: ["configure", "set"], secret: "value" }],
  cargo: [AFTER_LOGIN],
  composer: CONFIG,
  doppler: [...SECRETS_SET, { after: ["secrets", "set"], secret: 2 }],
  dotenv: [{ after: ["set"], secret: "value" }],
  fly: SECRETS_SET,
  flyctl: SECRETS_SET,
  git: CONFIG,
  htpasswd: [
    { after: [], secret: 3, flag: /^-[a-zA-Z]*b/ },
    { after: [], secret: 2, flag: /^-[a-zA-Z]*(?:n[a-zA-Z]*b|b[a-zA-Z]*n)/ },
  ],
  launchctl: [{ after: ["setenv"], secret: "value" }],
  mc: [
    { after: ["alias", "set"], secret: 3 },
    { after: ["config", "host", "add"], secret: 3 },
  ],
  mysqladmin: [{ after: ["password"], secret: 1 }],
  netlify: [{ after: ["env:set"], secret: "value" }],
  ngrok: [
    { after: ["authtoken"], secret: 1 },
    { after: ["config", "add-authtoken"], secret: 1 },
  ],
  nmcli: [{ after: [], secret: "named" }],
  npm: CONFIG_SET,
  pip: CONFIG_SET,
  pnpm: CONFIG_SET,
  poetry: CONFIG,
  pulumi: [...CONFIG_SET, { after: ["config", "set"], secret: 2, flag: /^--secret$/ }],
  rabbitmqctl: [
    { after: ["add_user"], secret: 2 },
    { after: ["change_password"], secret: 2 },
    { after: ["authenticate_user"], secret: 2 },
  ],
  rclone: [{ after: ["obscure"], secret: 1 }],
  set: SETS,
  setenv: SETS,
  setx: SETS,
  snyk: [{ after: ["auth"], secret: 1 }],
  supabase: SECRETS_SET,
  vault: [
    AFTER_LOGIN,
    { after: ["unwrap"], secret: 1 },
    { after: ["operator", "unseal"], secret: 1 },
    { after: ["kv", "put"], secret: "values" },
    { after: ["kv", "patch"], secret: "values" },
    { after: ["write"], secret: "values" },
  ],
  wandb: [AFTER_LOGIN],
  wpa_passphrase: [{ after: [], secret: 2 }],
  yarn: CONFIG_SET,
};

/**
 * Programs and shell commands whose names are also subcommands of other programs. Such a name is read as the program
 * only if it is the first word.
 */
export const ONLY_FIRST: ReadonlySet<string> = new Set(["set", "http", "https", "security"]);

// The following code finds the secrets that a shell line passes to a program's standard input: by a pipe
// (`echo … | docker login --password-stdin`), a here-string or a here-document. The line is given as the pieces into
// which `mask-secrets.ts` splits it.

/**
 * A simple command: the indexes of its pieces (`to` is exclusive), and the separators between the previous command and
 * this command (`before`).
 */
interface Piped {
  readonly from: number;
  to: number;
  readonly before: string;
}

const END = /^[;|&()]$/;
const PIPE = /^\)*\|&?\n*\(*$/;

const STDIN_FLAG =
  /^--(?:[a-z-]*(?:password|passwd|passphrase|pass|token|secret|key)-stdin|with-token|password-stdin)$/;

/**
 * Programs that can read a secret from their standard input. A program reads a secret if each of its patterns matches a
 * word of the command.
 */
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
const PRINTERS = new Set(["echo", "printf", "print", "Write-Output"]);

/** Matches the printed words that are not masked: flags of `echo`, formats of `printf`, and variables. */
const PLAIN = /^(?:-[neErs]+|(?:%s|%b|\\[nrt0])+|\$\{?\w+\}?)$/;

/** Returns the indexes of the pieces with secrets that a program gets on its standard input. */
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

/**
 * Adds the words that earlier commands of the pipeline print to `fed`. Stops at an earlier command that itself reads a
 * secret.
 */
function feedBack(pieces: readonly string[], { commands, at, fed }: Feeding): void {
  let inGroup = false;
  for (let k = at; k > 0; k -= 1) {
    const { before } = commands[k] ?? { before: "" };
    const source = commands[k - 1];
    if (source === undefined || (!inGroup && !PIPE.test(before))) return;
    const words = wordsOf(pieces, source);
    if (!before.startsWith(")") && readsSecret(words)) return;
    if (before.startsWith(")") || words[0] === "}") inGroup = true;
    markPrinted(pieces, source, fed);
    if (source.before.includes("(") || words[0] === "{") inGroup = false;
  }
}

function markPrinted(pieces: readonly string[], { from, to }: Piped, fed: Set<number>): void {
  let prints = false;
  for (let at = from; at < to; at += 1) {
    const piece = pieces[at] ?? "";
    if (/^[<>]$/.test(piece)) return;
    if (/^\s+$/.test(piece)) continue;
    const word = unquoted(piece);
    if (prints && !PLAIN.test(word)) fed.add(at);
    prints ||= PRINTERS.has(word);
  }
}

/**
 * Adds the text of a here-string or here-document to `fed`. Returns "to the end" for a document that extends to the end
 * of the line because its end mark is missing.
 */
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
