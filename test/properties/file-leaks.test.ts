/** The law of leaks of files, and its negative controls. */
import { expect, it } from 'vitest'
import { VaultError } from '../../src/index.ts'
import { fileLeaks, leaksOfFiles } from '../laws/file-leaks.ts'
import type { PairOptions } from '../support/files/paired-archives.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(fileLeaks)

/** Runs pairs up to the first that leaks. */
async function firstLeaks(options: PairOptions): Promise<string[]> {
  for (let pair = 0; pair < 20; pair++) {
    const leaks = await leaksOfFiles(`control ${pair}`, options)
    if (leaks.length > 0) return leaks
  }
  return []
}

it('a caller who can open what they may not is found out', async () => {
  const leaks = await firstLeaks({ careless: (caller, owner) => ({ ...caller, openFile: owner.openFile }) })
  expect(leaks).toContainEqual(expect.stringContaining('openFile: an answer holds a canary'))
})

it('metadata that show more than the policy are found out', async () => {
  const leaks = await firstLeaks({ careless: (caller, owner) => ({ ...caller, getOne: owner.getOne }) })
  expect(leaks).toContainEqual(expect.stringContaining('getOne: the answers differ'))
})

it('a content that gets into the log is found out', async () => {
  const leaks = await firstLeaks({
    careless: (caller, owner) => ({
      ...caller,
      async fileStatus(table, id, column) {
        const { metadata } = await owner.openFile(table, id, column)
        throw new VaultError('not_found', `There is no file ${metadata.fileName}.`)
      },
    }),
  })
  expect(leaks).toContainEqual(expect.stringContaining('errors, spans or the log hold a canary'))
})
