import { defineConfig, type OxlintConfig } from "oxlint";
import { BACKENDS, ROOMS, type Wall, WALLS } from "./scripts/walls.ts";

/** The linter's configuration. The walls between folders are made of the table in `scripts/walls.ts`. */

interface Ban {
  readonly group: string[];
  readonly message: string;
}
type Override = NonNullable<OxlintConfig["overrides"]>[number];

const ALL: readonly Ban[] = [
  { group: ["**/index.ts"], message: "index.ts is for users of the package; import the file itself" },
  { group: ["**/testing/**"], message: "testing is for tests" },
];
const NO_FS: Ban = {
  group: ["node:fs", "node:fs/*", "fs", "fs/*"],
  message: "node:fs only in disk: everything else goes through the port",
};
const NO_LOCALE = {
  property: "toLocaleString",
  message: "its first call loads the locale data, which takes 15 ms: use `groupedDigits`",
};
const ONLY_BIN: Ban = { group: ["**/cli/**"], message: "only bin starts the command line" };
const SURROUNDINGS = [
  {
    name: "node:process",
    message: "the environment is read in cli, daemon and process; the rest is told what it needs",
  },
  {
    name: "node:os",
    importNames: ["homedir", "userInfo"],
    message: "the home folder is known in cli, daemon and process",
  },
];
const RANDOMNESS = [
  {
    name: "node:crypto",
    importNames: ["randomBytes", "randomUUID", "randomInt", "randomFillSync"],
    message: "core is pure: randomness comes in through the context",
  },
];
const PURE: Ban = {
  group: ["net", "http", "https", "http2", "tls", "dgram", "dns", "child_process", "worker_threads", "os", "process"]
    .concat("sqlite", "readline", "timers", "timers/*", "perf_hooks")
    .map((name) => `node:${name}`),
  message: "core is pure: no I/O, clock or process",
};
/** The page is a client like any other: it uses the client for browsers, and the types of the contract. */
const OF_THE_PAGE = [
  // This cannot be a group: the exception `!**/src/api/**` of the other one would hold for it, too.
  { regex: "/src/api/", allowTypeImports: true, message: "the page uses only types of src/api" },
  {
    group: ["**/src/**", "!**/src/client/index.ts", "!**/src/api/**"],
    message: "the page uses src/client/index.ts, and types of src/api",
  },
  { group: ["node:*"], message: "the page runs in a browser" },
];
/** Folders that read the environment of their process, write to its streams, and end it. */
const PROCESSES = ["cli", "daemon", "process"];

/** What a folder may not import: each other folder that it does not see; of a port, what stands behind it. */
function beyond([folder, sees, message]: Wall): Ban {
  const unseen = WALLS.map(([name]) => name).filter((name) => name !== folder && !sees.includes(name));
  const group = unseen.flatMap((name) => {
    if (!sees.includes(`${name}:port`)) return [`**/${name}/**`];
    return name === "disk" ? ["**/disk/node-disk.ts"] : [`**/${name}/*/**`];
  });
  if (!sees.includes("open.ts")) group.push("**/open.ts");
  // The package of the protocol has the name of a folder.
  if (folder === "mcp") group.push("!@modelcontextprotocol/**");
  return { group, message };
}

/** The rule for imports in some files of a folder. Overrides of one rule do not merge: each is whole. */
function restricted(files: string, wall: Wall, ...more: readonly Ban[]): Override {
  const [folder] = wall;
  const paths = folder === "core" ? RANDOMNESS : PROCESSES.includes(folder) ? [] : SURROUNDINGS;
  const patterns = [...ALL, ...(folder === "disk" ? [] : [NO_FS]), ...(folder === "core" ? [PURE] : []), beyond(wall)];
  return { files: [files], rules: { "no-restricted-imports": ["error", { paths, patterns: [...patterns, ...more] }] } };
}

function* inRooms(wall: Wall): Generator<Override> {
  const [folder] = wall;
  for (const [place, order] of Object.entries(ROOMS)) {
    if (place !== folder && !place.startsWith(`${folder}/`)) continue;
    for (const [i, room] of order.entries()) {
      const group = order.slice(i + 1).map((later) => `../${later}/**`);
      const message = `${place}/${room} sees only the rooms before it: ${order.slice(0, i).join(", ") || "none"}`;
      if (group.length > 0) yield restricted(`src/${place}/${room}/**`, wall, { group, message });
    }
  }
}

function* inStorage(wall: Wall): Generator<Override> {
  const message = "a port knows no backend";
  yield restricted("src/storage/*.ts", wall, { group: ["./*/**", "**/storage/*/**"], message });
  for (const one of BACKENDS) {
    const group = BACKENDS.filter((other) => other !== one).map((other) => `../${other}/**`);
    yield restricted(`src/storage/${one}/**`, wall, { group, message: "a backend knows no other backend" });
  }
}

const isStorage = ([folder]: Wall) => folder === "storage";
const isComposition = ([folder]: Wall) => folder === "compose";

export default defineConfig({
  plugins: ["import", "typescript", "node", "unicorn", "oxc", "promise", "vitest"],
  categories: { correctness: "error" },
  ignorePatterns: ["dist", "bench/.cache", "coverage"],
  rules: {
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "import/no-self-import": "error",
    "import/no-default-export": "error",
    "no-restricted-imports": ["error", { paths: SURROUNDINGS, patterns: [...ALL, NO_FS, ONLY_BIN] }],
    "no-restricted-properties": ["error", NO_LOCALE],
    "no-console": "error",
    "node/no-process-env": "error",
    "unicorn/no-process-exit": "error",
    "unicorn/prefer-node-protocol": "error",
    "typescript/no-explicit-any": "error",
    "typescript/ban-ts-comment": ["error", { "ts-expect-error": "allow-with-description" }],
    "typescript/no-namespace": "error",
    "typescript/return-await": ["error", "error-handling-correctness-only"],
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/no-misused-spread": "off",
    "no-control-regex": "off",
    "no-var": "error",
    "prefer-const": "error",
    eqeqeq: "error",
    "no-empty": "error",
    "max-lines": ["error", { max: 500, skipBlankLines: true, skipComments: true }],
    "max-lines-per-function": ["error", { max: 60 }],
    "max-params": ["error", { max: 4 }],
    complexity: ["error", { max: 20 }],
    "max-depth": ["error", { max: 4 }],
    "vitest/no-focused-tests": "error",
    "vitest/expect-expect": "off",
    "vitest/require-to-throw-message": "off",
    "vitest/valid-title": "off",
    "vitest/valid-expect": ["error", { maxArgs: 2 }],
    "vitest/no-conditional-expect": "off",
    "unicorn/no-useless-spread": "off",
  },
  overrides: [
    ...WALLS.flatMap((wall) => [
      restricted(`src/${wall[0]}/**`, wall),
      ...inRooms(wall),
      ...(isStorage(wall) ? inStorage(wall) : []),
    ]),
    ...WALLS.filter(isComposition).map(([folder, sees, reason]) =>
      restricted("src/*.ts", [folder, [...sees, "backends"], reason]),
    ),
    {
      files: ["src/core/**"],
      rules: {
        "no-restricted-properties": [
          "error",
          NO_LOCALE,
          { object: "Date", property: "now", message: "core is pure: the clock comes in through the context" },
          { object: "Math", property: "random", message: "core is pure: randomness comes in through the context" },
          { object: "crypto", property: "randomUUID", message: "core is pure: ids come in through the context" },
        ],
        "no-restricted-globals": [
          "error",
          { name: "process", message: "core is pure" },
          { name: "performance", message: "core is pure: no clock" },
          { name: "setTimeout", message: "core is pure: no clock" },
          { name: "setInterval", message: "core is pure: no clock" },
          { name: "fetch", message: "core is pure: no I/O" },
        ],
      },
    },
    {
      files: PROCESSES.map((folder) => `src/${folder}/**`),
      rules: { "no-console": "off", "node/no-process-env": "off", "unicorn/no-process-exit": "off" },
    },
    {
      files: ["ui/src/**"],
      plugins: ["react", "jsx-a11y", "import", "typescript", "unicorn", "oxc", "promise"],
      rules: {
        "no-restricted-imports": ["error", { patterns: OF_THE_PAGE }],
        "react/rules-of-hooks": "error",
        "react/exhaustive-deps": "error",
        "react/jsx-key": "error",
        "react/no-array-index-key": "error",
        "react/no-danger": "error",
        "jsx-a11y/no-autofocus": "error",
        // A list that is drawn in parts cannot be compiled; it works all the same.
        "react/incompatible-library": "off",
        "jsx-a11y/prefer-tag-over-role": "off",
      },
    },
    {
      files: ["**/*.test.ts", "test/**", "src/testing/**", "bench/**", "scripts/**", "bin/**", "*.config.ts"],
      rules: {
        "no-restricted-imports": "off",
        "no-restricted-properties": "off",
        "no-restricted-globals": "off",
        "no-console": "off",
        "node/no-process-env": "off",
        "unicorn/no-process-exit": "off",
      },
    },
    {
      files: ["**/*.test.ts", "test/**", "src/testing/**"],
      rules: {
        "max-lines": ["error", { max: 600, skipBlankLines: true, skipComments: true }],
        "max-lines-per-function": "off",
      },
    },
    { files: ["*.config.ts"], rules: { "import/no-default-export": "off" } },
  ],
});
