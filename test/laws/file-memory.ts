/** Law: files of any length are uploaded and opened in little memory. */

import { runFileMemoryTrial } from '../support/trials/file-memory-trial.ts'
import { figureOf } from '../support/trials/report.ts'
import type { Law } from './law.ts'

/** The first cases have short files, for `npm test`: one of each store. */
const SHORT_CASES = 2
/** Of each case: a process warms up once. */
const FILES = [1, 8]
const SHORT_MEBIBYTES = 64
const LONG_MEBIBYTES = 1024

export const fileMemory: Law = {
  name: 'file-memory',
  statement: 'Uploading and opening 1 GiB adds less than 96 MiB of resident memory, and eight files at once less than 256 MiB',
  unit: 'MiB',
  figures: { test: SHORT_CASES * FILES.length * SHORT_MEBIBYTES, soak: 8 * LONG_MEBIBYTES },
  weight: 2,
  async open() {
    return {
      async check({ number }) {
        const store = number % 2 === 0 ? 'database' : 'folder'
        const mebibytes = number < SHORT_CASES ? SHORT_MEBIBYTES : LONG_MEBIBYTES
        return figureOf(await runFileMemoryTrial({ store, files: FILES, mebibytes, isKept: false }))
      },
      close: async () => {},
    }
  },
}
