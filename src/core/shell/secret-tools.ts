/** The ways in which well-known programs take secrets on their command line: by flags, and by the place of a word. */

/**
 * The form in which a flag takes a secret: in the `next` argument (or in its own, as `-pX`), only `apart` from it,
 * `attached` to the flag, as `user:secret` or `user%secret` (`percent`), as one of OpenSSL's sources (`pass:…`,
 * `env:…`, `file:…`), or as `name=secret` (`pair`).
 */
export interface ToolFlag {
  readonly flags: readonly string[];
  readonly takes: "next" | "apart" | "attached" | "user" | "percent" | "source" | "pair";
  /** Applies only after this subcommand. */
  readonly after?: string;
}

/** The words of a program that are secret. */
export interface ToolWords {
  /** The words that precede the secret, in this order. Flags and other words may stand between them. */
  readonly after: readonly string[];
  /**
   * A number: words from this one on are secret, counted after them without flags (1: the next word). `value`: the
   * words after a secret's name; `values`: the value of each `NAME=VALUE`; `named`: the word after each secret's name.
   */
  readonly secret: number | "value" | "values" | "named";
  /** Applies only if such a flag is given. */
  readonly flag?: RegExp;
}

const DATABASE: readonly ToolFlag[] = [{ flags: ["-p"], takes: "attached" }];
const LOGIN: ToolFlag = { flags: ["-p"], takes: "next", after: "login" };
const DASH_P: readonly ToolFlag[] = [{ flags: ["-p"], takes: "next" }];
const DASH_CAPITAL_P: readonly ToolFlag[] = [{ flags: ["-P"], takes: "next" }];
const DASH_W: readonly ToolFlag[] = [{ flags: ["-w"], takes: "next" }];
const PERCENT: readonly ToolFlag[] = [{ flags: ["-U", "--user"], takes: "percent" }];
const REGISTRY: readonly ToolFlag[] = [LOGIN, { flags: ["--creds", "--src-creds", "--dest-creds"], takes: "user" }];

/** Keyed by the program's name. */
export const TOOL_FLAGS: Readonly<Record<string, readonly ToolFlag[]>> = {
  "7z": DATABASE,
  az: [LOGIN],
  buildah: REGISTRY,
  cqlsh: DASH_P,
  curl: [{ flags: ["-u", "--user", "-U", "--proxy-user"], takes: "user" }],
  docker: REGISTRY,
  gh: [{ flags: ["-b", "--body"], takes: "next", after: "secret" }],
  helm: [LOGIN],
  http: [{ flags: ["-a", "--auth"], takes: "user" }],
  https: [{ flags: ["-a", "--auth"], takes: "user" }],
  ipmitool: DASH_CAPITAL_P,
  kubectl: [{ flags: ["--from-literal"], takes: "pair", after: "secret" }],
  ldapadd: DASH_W,
  ldapdelete: DASH_W,
  ldapmodify: DASH_W,
  ldappasswd: [{ flags: ["-w", "-s", "-a"], takes: "next" }],
  ldapsearch: DASH_W,
  ldapwhoami: DASH_W,
  mariadb: DATABASE,
  mongo: DASH_P,
  mongodump: DASH_P,
  mongoexport: DASH_P,
  mongoimport: DASH_P,
  mongorestore: DASH_P,
  mongosh: DASH_P,
  mosquitto_pub: DASH_CAPITAL_P,
  mosquitto_sub: DASH_CAPITAL_P,
  mysql: DATABASE,
  mysqladmin: DATABASE,
  mysqldump: DATABASE,
  nerdctl: REGISTRY,
  oc: [LOGIN, { flags: ["--from-literal"], takes: "pair", after: "secret" }],
  openssl: [
    { flags: ["-k", "-K", "-hmac"], takes: "apart" },
    { flags: ["-pass", "-passin", "-passout", "-password"], takes: "source" },
  ],
  oras: REGISTRY,
  podman: REGISTRY,
  "redis-cli": [{ flags: ["-a"], takes: "next" }],
  rpcclient: PERCENT,
  security: [
    { flags: ["-w"], takes: "next", after: "add-generic-password" },
    { flags: ["-w"], takes: "next", after: "add-internet-password" },
    { flags: ["-p"], takes: "next", after: "unlock-keychain" },
    { flags: ["-P"], takes: "next", after: "import" },
  ],
  skopeo: REGISTRY,
  smbclient: PERCENT,
  sqlcmd: DASH_CAPITAL_P,
  sshpass: [...DASH_P, ...DATABASE],
  "ssh-keygen": [{ flags: ["-N", "-P"], takes: "next" }],
  twine: DASH_P,
  unzip: DASH_CAPITAL_P,
  useradd: DASH_P,
  usermod: DASH_P,
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

/** Keyed by the program's name. */
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
  pulumi: CONFIG_SET,
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

/** Shell words that other programs use as subcommands: they count as programs only as the first word. */
export const ONLY_FIRST: ReadonlySet<string> = new Set(["set", "http", "https", "security"]);
