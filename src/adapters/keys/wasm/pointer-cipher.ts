/** Encrypts pointers by FF1 (SP 800-38G) over 122 bits, as UUIDs of version 4, a list at a time in the module. */
import { createHash } from 'node:crypto'
import { type DecryptedPointers, POINTER_WORDS } from '../../../core/ports/crypto.ts'
import { at, required } from '../../../core/util/lists.ts'
import { fewBytes, fewNumbers } from '../../../core/util/memory.ts'
import { wipe } from '../key-bytes.ts'
import { createBlockCipher } from '../platform/aes.ts'
import type { PointerCipher } from '../primitives.ts'
import type { BlockCipher } from '../xaes-key.ts'
import { expandKey, getWasm, MAX_BATCH_ITEMS, MODULE_BLOCKS, REGION, type WasmModule } from './wasm.ts'

const ROUNDS = 10
const TWEAK_BYTES = 7
const TEXT_LENGTH = 36
const WORD_BYTES = POINTER_WORDS * 4
const BLOCK = 16
/** Bytes of one half of a numeral string. */
const HALF_BYTES = 8
/** Replaces a text of another length, so that all items have one width. It has no version and is not well-formed. */
const NOT_A_UUID = '0'.repeat(TEXT_LENGTH)
const NOT_LATIN1 = /[^\0-\xff]/
/** P: radix 2, length 122, halves of 61 and a tweak of 7 bytes. Source: SP 800-38G, algorithm 7, step 5. */
const PARAMETERS = Buffer.from([1, 2, 1, 0, 0, 2, ROUNDS, 61, 0, 0, 0, 122, 0, 0, 0, TWEAK_BYTES])

/** Regions of the halves of the numeral strings. Words and texts are in `input`. */
const LEFT = REGION.output
const RIGHT = REGION.output + MAX_BATCH_ITEMS * HALF_BYTES

/** Returns the tweak of 7 bytes that binds pointers to one vault, in addition to its keys. */
export function pointerTweak(vaultId: string): Uint8Array {
  return createHash('sha256').update(`strongroom/v1/pointer-tweak/${vaultId}`).digest().subarray(0, TWEAK_BYTES)
}

/** Returns the pointer cipher for a key of 32 bytes, which are not kept, and a tweak of 7 bytes. */
export function createModulePointerCipher(key: Uint8Array, tweak: Uint8Array): PointerCipher {
  const cipher = createBlockCipher(key)
  // AES(P) with the tweak added: the part of the PRF that is the same for all items and rounds.
  const fixed = cipher.update(PARAMETERS)
  for (let i = 0; i < TWEAK_BYTES; i++) fixed[i] = at(fixed, i) ^ at(tweak, i)
  const material: KeyMaterial = { cipher, fixed, schedule: expandKey(key) }
  return {
    encrypt(words) {
      if (words.length <= MODULE_BLOCKS * POINTER_WORDS) return encryptFew(material, words)
      const texts: string[] = new Array(words.length / POINTER_WORDS)
      for (let from = 0; from < words.length; from += MAX_BATCH_ITEMS * POINTER_WORDS) {
        encryptChunk(material, words.subarray(from, from + MAX_BATCH_ITEMS * POINTER_WORDS), {
          texts,
          from: from / POINTER_WORDS,
        })
      }
      return texts
    },
    decrypt(texts) {
      if (texts.length <= MODULE_BLOCKS) return decryptFew(material, texts)
      const words = fewNumbers(texts.length * POINTER_WORDS)
      const wellFormed = fewBytes(texts.length)
      for (let from = 0; from < texts.length; from += MAX_BATCH_ITEMS) {
        const chunk = texts.length <= MAX_BATCH_ITEMS ? texts : texts.slice(from, from + MAX_BATCH_ITEMS)
        decryptChunk(material, chunk, words.subarray(from * POINTER_WORDS), wellFormed.subarray(from))
      }
      return { words, wellFormed }
    },
    close() {
      cipher.close()
      wipe(material.fixed, material.schedule)
    },
  }
}

/** The key material of every call. The round keys in `schedule` are as secret as the key. */
interface KeyMaterial {
  readonly cipher: BlockCipher
  readonly fixed: Uint8Array
  readonly schedule: Uint8Array
}

/** Encrypts a few pointers in one call of the module. A round has one block for each. */
function encryptFew({ fixed, schedule }: KeyMaterial, words: Uint32Array): string[] {
  const { calls, memory, words: input } = getWasm()
  const count = words.length / POINTER_WORDS
  // A loop, because `set` and `subarray` cost more for a few words.
  for (let i = 0; i < words.length; i++) input[i] = required(words[i])
  memory.set(fixed, REGION.fixed)
  memory.set(schedule, REGION.schedule)
  calls.encryptPointersFew(REGION.schedule, REGION.fixed, REGION.input, LEFT, RIGHT, REGION.blocks, REGION.input, count)
  const texts: string[] = new Array(count)
  readTexts(memory, count, { texts, from: 0 })
  calls.wipe(REGION.schedule, schedule.length)
  calls.wipe(REGION.fixed, BLOCK)
  calls.wipe(REGION.input, count * TEXT_LENGTH)
  return texts
}

/** Decrypts a few pointers in one call of the module. */
function decryptFew({ fixed, schedule }: KeyMaterial, texts: readonly string[]): DecryptedPointers {
  const { calls, memory, words: input } = getWasm()
  const count = texts.length
  writeTexts(memory, texts)
  memory.set(fixed, REGION.fixed)
  memory.set(schedule, REGION.schedule)
  calls.decryptPointersFew(
    REGION.schedule,
    REGION.fixed,
    REGION.input,
    LEFT,
    RIGHT,
    REGION.blocks,
    REGION.input,
    REGION.flags,
    count,
  )
  const words = fewNumbers(count * POINTER_WORDS)
  for (let i = 0; i < words.length; i++) words[i] = required(input[i])
  const wellFormed = new Uint8Array(count)
  for (let item = 0; item < count; item++) wellFormed[item] = required(memory[REGION.flags + item], 'The flag of a pointer')
  calls.wipe(REGION.schedule, schedule.length)
  calls.wipe(REGION.fixed, BLOCK)
  calls.wipe(REGION.input, count * TEXT_LENGTH)
  return { words, wellFormed }
}

/** Runs the rounds over `count` items. Forwards the first round reads the right half, backwards the left one. */
function runRounds(
  { cipher, fixed }: KeyMaterial,
  { calls, memory }: WasmModule,
  count: number,
  direction: 'forwards' | 'backwards',
): void {
  const forwards = direction === 'forwards'
  const blocks = memory.subarray(REGION.blocks, REGION.blocks + count * BLOCK)
  memory.set(fixed, REGION.fixed)
  calls.writeRound(REGION.fixed, forwards ? 0 : ROUNDS - 1, forwards ? RIGHT : LEFT, REGION.blocks, count)
  for (let step = 0; step < ROUNDS; step++) {
    const encrypted = cipher.update(blocks)
    memory.set(encrypted, REGION.blocks)
    wipe(encrypted)
    const even = step % 2 === 0
    if (forwards) calls.addRound(REGION.fixed, step + 1, even ? LEFT : RIGHT, REGION.blocks, count)
    else calls.subtractRound(REGION.fixed, ROUNDS - 2 - step, even ? RIGHT : LEFT, REGION.blocks, count)
  }
  calls.wipe(REGION.blocks, count * BLOCK)
  calls.wipe(REGION.fixed, BLOCK)
}

/** Wipes the texts or words of a chunk, and the halves of its numeral strings. */
function wipeChunk({ calls }: WasmModule, count: number): void {
  calls.wipe(REGION.input, count * TEXT_LENGTH)
  calls.wipe(LEFT, count * HALF_BYTES)
  calls.wipe(RIGHT, count * HALF_BYTES)
}

/** Encrypts a chunk. Its texts go to a place. */
function encryptChunk(material: KeyMaterial, words: Uint32Array, place: Place): void {
  const module = getWasm()
  const { calls, memory } = module
  const count = words.length / POINTER_WORDS
  memory.set(new Uint8Array(words.buffer, words.byteOffset, words.byteLength), REGION.input)
  calls.splitWords(REGION.input, LEFT, RIGHT, count)
  runRounds(material, module, count, 'forwards')
  calls.renderUuids(LEFT, RIGHT, REGION.input, count)
  readTexts(memory, count, place)
  wipeChunk(module, count)
}

function decryptChunk(material: KeyMaterial, texts: readonly string[], words: Uint32Array, wellFormed: Uint8Array): void {
  const module = getWasm()
  const { calls, memory } = module
  const count = texts.length
  writeTexts(memory, texts)
  calls.parseUuids(REGION.input, LEFT, RIGHT, REGION.flags, count)
  runRounds(material, module, count, 'backwards')
  calls.joinWords(REGION.input, LEFT, RIGHT, REGION.flags, count)
  const target = new Uint8Array(words.buffer, words.byteOffset, count * WORD_BYTES)
  target.set(memory.subarray(REGION.input, REGION.input + count * WORD_BYTES))
  wellFormed.set(memory.subarray(REGION.flags, REGION.flags + count))
  wipeChunk(module, count)
}

/** A place in a list of texts. A list of its full length is never copied to grow. */
interface Place {
  readonly texts: string[]
  readonly from: number
}

/** Reads the texts in `input`. One conversion cut into pieces costs a fifth of one conversion for each text. */
function readTexts(memory: Buffer, count: number, { texts, from }: Place): void {
  const all = memory.toString('latin1', REGION.input, REGION.input + count * TEXT_LENGTH)
  for (let item = 0; item < count; item++) texts[from + item] = all.substring(item * TEXT_LENGTH, (item + 1) * TEXT_LENGTH)
}

/** Writes 36 bytes for each text. A text with a character of more than one byte is replaced: cutting that to a byte could make a digit. */
function writeTexts(memory: Buffer, texts: readonly string[]): void {
  const length = texts.length * TEXT_LENGTH
  const sized = texts.every(hasLength) ? texts : texts.map((text) => (hasLength(text) ? text : NOT_A_UUID))
  const all = sized.join('')
  if (!NOT_LATIN1.test(all)) memory.write(all, REGION.input, length, 'latin1')
  else memory.write(sized.map((text) => (NOT_LATIN1.test(text) ? NOT_A_UUID : text)).join(''), REGION.input, length, 'latin1')
}

function hasLength(text: string): boolean {
  return text.length === TEXT_LENGTH
}
