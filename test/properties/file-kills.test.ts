/** The law of killed writers of files, and its negative control: writers that acknowledge before the vault does. */
import { expect, it } from 'vitest'
import { fileKills, killFileWriters } from '../laws/file-kills.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(fileKills)

it('a file that was acknowledged and is not stored is found out', async () => {
  const { failures } = await killFileWriters({ seed: 'early', store: 'folder', acknowledgeEarly: true })
  expect(failures).toContainEqual(expect.stringContaining('a record has'))
}, 120_000)
