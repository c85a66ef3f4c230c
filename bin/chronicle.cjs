#!/usr/bin/env node
"use strict";
// The beginning of every command. It is written for old Nodes too. The store's long-lived process carries out most commands;
// `chronicle.js` starts the whole program.

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
