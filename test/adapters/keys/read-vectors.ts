/** Reads a file of published test vectors. */
import { readFileSync } from 'node:fs'

/** The parsed file; the caller states its shape. Fails when the file does not say where its vectors come from. */
export function readVectors<Shape extends { readonly source: string }>(name: string): Shape {
  const vectors: Shape = JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), 'utf8'))
  if (vectors.source === '') throw new Error(`${name}.json names no source`)
  return vectors
}

/** Bytes of a hexadecimal text. */
export function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}

/** Hexadecimal text of bytes. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** A published vector of FF1, with key and tweak in hexadecimal and numeral strings as text. */
interface Ff1Vector {
  readonly key: string
  readonly radix: number
  readonly tweak: string
  readonly plaintext: string
  readonly ciphertext: string
}

/** A file of FF1 vectors and its source. */
export function readFf1Vectors(name: string): { readonly source: string; readonly cases: readonly Ff1Vector[] } {
  return readVectors<{ source: string; cases: readonly Ff1Vector[] }>(name)
}

/** A case of HKDF with SHA-256; bytes in hex digits. */
interface HkdfVector {
  readonly ikm: string
  readonly salt: string
  readonly info: string
  readonly length: number
  readonly okm: string
}

/** The cases of HKDF with SHA-256. */
export function readHkdfVectors(): readonly HkdfVector[] {
  return readVectors<{ readonly source: string; readonly cases: readonly HkdfVector[] }>('hkdf-sha-256').cases
}
