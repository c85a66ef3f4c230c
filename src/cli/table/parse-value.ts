import type { ValueKind } from "./spec.ts";

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  k: 1024,
  kib: 1024,
  kb: 1e3,
  m: 1024 ** 2,
  mib: 1024 ** 2,
  mb: 1e6,
  g: 1024 ** 3,
  gib: 1024 ** 3,
  gb: 1e9,
  t: 1024 ** 4,
  tib: 1024 ** 4,
  tb: 1e12,
};

/**
 * Parses a size: `0`, `500`, `500M`, `2GiB` (powers of 1024), `1.5GB` (powers of 1000). Returns the number of bytes,
 * rounded to a whole number. Returns `undefined` for any other text, and for a size of 2^53 bytes or more.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = UNITS[(match?.[2] ?? "").toLowerCase()];
  if (match === null || unit === undefined) return undefined;
  const bytes = Math.round(Number(match[1]) * unit);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Parses a whole number from 0 to 2^53 - 1. Returns `undefined` for anything else. */
export function parseCount(text: string): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

/**
 * Parses a number of seconds. The number must be 0 or more, and may have a fraction. Returns `undefined` for anything
 * else.
 */
export function parseSeconds(text: string): number | undefined {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

const READERS: Readonly<Record<ValueKind, (text: string) => string | number | undefined>> = {
  text: (text) => text,
  count: parseCount,
  size: parseSize,
  seconds: parseSeconds,
};

const WANTED: Readonly<Record<ValueKind, string>> = {
  text: "text",
  count: "a whole number, 0 or more",
  size: "a size like 500M or 2GiB (0: no limit)",
  seconds: "a number of seconds",
};

/** Parses an option's value. Returns the value, or a description of the expected form if the text does not fit. */
export function parseValue(kind: ValueKind, text: string): { value: string | number } | { wanted: string } {
  const value = READERS[kind](text);
  return value === undefined ? { wanted: WANTED[kind] } : { value };
}
