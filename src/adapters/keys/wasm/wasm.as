/** The exports of the module. Rebuild it with scripts/build-wasm.ts. */
export { encryptBlocks, expandKey, prepareAes } from './aes'
export { addStep, digestFew, orderItems, writeMacs } from './cmac'
export { fillHashTables } from './ghash'
export { openBodies, sealBodies, writeCounters } from './gcm'
export { addRound, joinWords, parseUuids, prepareDigits, renderUuids, splitWords, subtractRound, writeRound } from './pointer'
export { decryptPointersFew, encryptPointersFew } from './pointer'

/** Overwrites memory with zeros. */
export function wipe(at: usize, bytes: usize): void {
  memory.fill(at, 0, bytes)
}
