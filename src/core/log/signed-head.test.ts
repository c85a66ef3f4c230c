import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Hash, sha256 } from "../values/hash.ts";
import {
  encodeHead,
  generateKey,
  parseExpected,
  parseSignedHead,
  type SignedHeadContent,
  signHead,
  verifySignedHead,
  vkeyOf,
} from "./signed-head.ts";

const CONTENT: SignedHeadContent = {
  workspace: "01JABCDEFGHJKMNPQRSTVWXYZ0",
  seq: 1234,
  hash: sha256("event"),
  logRoot: sha256("log"),
  root: sha256("files"),
};
const NAME = `chronicle/${CONTENT.workspace}`;
const KEY = generateKey();
const VKEY = vkeyOf(KEY.publicKeyPem, NAME);
const TEXT = encodeHead(CONTENT);
const NOTE = signHead(TEXT, KEY.privateKeyPem, NAME);
const damaged = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });
const misused = expect.objectContaining({ code: "USAGE" });

describe("a signed head", () => {
  it("is a checkpoint: origin, size, root, extension lines", () => {
    const logRoot = Buffer.from(CONTENT.logRoot, "hex").toString("base64");
    expect(TEXT).toBe(`${NAME}\n1234\n${logRoot}\nhead ${CONTENT.hash}\nroot ${CONTENT.root}\n`);
  });

  it("is read as it was written, and verifies with its key only", () => {
    expect(parseSignedHead(NOTE)).toMatchObject({ content: CONTENT, text: TEXT, signatures: [{ name: NAME }] });
    expect(verifySignedHead(NOTE, VKEY)).toBe(true);
    expect(verifySignedHead(NOTE, vkeyOf(generateKey().publicKeyPem, NAME))).toBe(false);
    expect(verifySignedHead(NOTE, vkeyOf(KEY.publicKeyPem, "other"))).toBe(false);
    expect(vkeyOf(KEY.privateKeyPem, NAME)).toBe(VKEY);
  });

  it("does not verify when any character of it is changed", () => {
    for (let at = 0; at < NOTE.length; at += 1) {
      const other = NOTE[at] === "A" ? "B" : "A";
      expect(verifySignedHead(NOTE.slice(0, at) + other + NOTE.slice(at + 1), VKEY), `character ${at}`).toBe(false);
      expect(verifySignedHead(NOTE.slice(0, at), VKEY), `cut at ${at}`).toBe(false);
    }
  });

  it("may have further signatures and signed extension lines", () => {
    const witness = generateKey();
    const witnessed = NOTE + signHead(TEXT, witness.privateKeyPem, "witness.example").slice(TEXT.length + 1);
    expect(verifySignedHead(witnessed, VKEY)).toBe(true);
    expect(verifySignedHead(witnessed, vkeyOf(witness.publicKeyPem, "witness.example"))).toBe(true);
    const extended = signHead(`${TEXT}later an extension\n`, KEY.privateKeyPem, NAME);
    expect(verifySignedHead(extended, VKEY)).toBe(true);
    expect(parseSignedHead(extended).content).toEqual(CONTENT);
  });

  it("does not verify when one of two signatures in the key's name is wrong", () => {
    const wrong = signHead(`${TEXT}x\n`, KEY.privateKeyPem, NAME).split("\n\n")[1] as string;
    expect(verifySignedHead(NOTE + wrong, VKEY)).toBe(false);
  });

  it.each([
    ["no signature", TEXT],
    ["an empty text", `\n— ${NAME} AAAAAAA=\n`],
    ["another origin", NOTE.replace("chronicle/", "elsewhere/")],
    ["size 0", NOTE.replace("\n1234\n", "\n0\n")],
    ["a size with a leading zero", NOTE.replace("\n1234\n", "\n01234\n")],
    ["a size that no number holds", NOTE.replace("\n1234\n", "\n9999999999999999\n")],
    ["no head line", NOTE.replace("\nhead ", "\nheat ")],
    ["head and root swapped", NOTE.replace("\nhead ", "\nx ").replace("\nroot ", "\nhead ").replace("\nx ", "\nroot ")],
    ["a carriage return", NOTE.replaceAll("\n", "\r\n")],
    ["an empty extension line", NOTE.replace("\n\n", "\n\n\n")],
    ["a control character in an extension line", NOTE.replace("\n\n", "\nx\ty\n\n")],
    ["no newline at the end", NOTE.slice(0, -1)],
    ["a dash instead of the mark", NOTE.replace("— ", "- ")],
    ["a signature of two words", NOTE.slice(0, -1) + " x\n"],
    ["an overlong note", TEXT + "\n" + "x".repeat(1_000_001)],
    ["too many signatures", NOTE + `— a AAAAAAA=\n`.repeat(100)],
  ])("refuses %s", (_name, note) => {
    expect(() => parseSignedHead(note)).toThrow(damaged);
    expect(verifySignedHead(note, VKEY)).toBe(false);
  });

  it("refuses contents that no note can hold", () => {
    const bad = [{ seq: 0 }, { seq: 1.5 }, { workspace: "a\nb" }, { workspace: "" }, { root: "x" as Hash }];
    for (const one of bad) expect(() => encodeHead({ ...CONTENT, ...one })).toThrow(damaged);
  });

  it("refuses invalid keys and names", () => {
    const rsa = generateKeyPairSync("rsa", {
      modulusLength: 1024,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    expect(() => signHead(TEXT, rsa.privateKey, NAME)).toThrow(misused);
    expect(() => signHead(TEXT, "nonsense", NAME)).toThrow(misused);
    for (const name of ["", "a b", "a+b", "a\nb"])
      expect(() => signHead(TEXT, KEY.privateKeyPem, name)).toThrow(misused);
    for (const vkey of ["", "x", VKEY.replace("+", "-"), VKEY.slice(0, -4), VKEY.replace(NAME, "other")]) {
      expect(() => verifySignedHead(NOTE, vkey)).toThrow(misused);
    }
  });
});

describe("parseExpected", () => {
  const json = {
    workspace: CONTENT.workspace,
    seq: 1234,
    hash: CONTENT.hash,
    log_root: CONTENT.logRoot,
    root: CONTENT.root,
  };

  it("reads a note, and refuses a note with CRLF, because the signed text has no carriage returns", () => {
    expect(parseExpected(NOTE)).toEqual({ ...CONTENT, note: NOTE });
    expect(() => parseExpected(NOTE.replaceAll("\n", "\r\n"))).toThrow("carriage returns");
  });

  it("reads what `chronicle head --json` prints, with and without a note", () => {
    expect(parseExpected(JSON.stringify(json))).toEqual(CONTENT);
    const printed = JSON.stringify({ ...json, note: NOTE, key: VKEY }, undefined, 2);
    expect(parseExpected(`\n${printed}\n`)).toEqual({ ...CONTENT, note: NOTE, key: VKEY });
  });

  it("refuses JSON around a note that says something else", () => {
    expect(() => parseExpected(JSON.stringify({ ...json, seq: 1233, note: NOTE }))).toThrow(damaged);
  });

  it.each(["", "{", "{}", "hello", JSON.stringify({ ...json, hash: "x" }), JSON.stringify({ ...json, seq: "1" })])(
    "refuses %j",
    (text) => {
      expect(() => parseExpected(text)).toThrow(misused);
    },
  );
});
