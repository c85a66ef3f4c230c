#!/usr/bin/env node
"use strict";
// The entry point of every command. It must also run in old versions of Node. It asks the store's long-lived process to
// carry out the command. If the process cannot do that, `chronicle.js` starts the whole program.

function direct() {
  return import("./chronicle.js").then(function () {});
}

function asking() {
  try {
    return require("../dist/ask.cjs");
  } catch {
    return undefined;
  }
}

const program = parseInt(process.versions.node, 10) < 24 ? undefined : asking();
if (program === undefined) void direct();
else void program.main(direct);
