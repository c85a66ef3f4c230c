/**
 * Returns the text of dist/index.js. This file checks the version of Node before it loads the library, because an older
 * Node cannot parse the library. The library is loaded synchronously, so that the package can be loaded by `require` as
 * well as by `import`.
 *
 * @param {string} library the path of the library's bundle, relative to dist/index.js
 * @param {readonly string[]} names the names that the library exports
 * @param {number} neededMajor the oldest major version of Node that can load the library
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
