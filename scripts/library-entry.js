/**
 * The text of dist/index.js: says what is needed before it loads anything that an older Node cannot even parse. The rest
 * is loaded at once and not awaited, so that `require` of the package works as well as `import`.
 *
 * @param {string} library the bundle, as a path from dist/index.js
 * @param {readonly string[]} names what it exports
 * @param {number} neededMajor the oldest Node that can load it
 */
export function libraryEntry(library, names, neededMajor) {
  return `import { createRequire } from "node:module";

if (parseInt(process.versions.node, 10) < ${neededMajor}) {
  const message =
    "this is Node " + process.versions.node + ", and Chronicle needs Node ${neededMajor} or later. Install a newer Node.";
  throw Object.assign(new Error(message), { code: "PLATFORM_UNSUPPORTED" });
}

export const { ${[...names].sort().join(", ")} } = createRequire(import.meta.url)(${JSON.stringify(library)});
`;
}
