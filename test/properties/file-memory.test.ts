/** The law of the memory of files, and its negative control: a reader that keeps what it reads. */
import { expect, it } from 'vitest'
import { fileMemory } from '../laws/file-memory.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { runFileMemoryTrial } from '../support/trials/file-memory-trial.ts'

itHolds(fileMemory)

it('a reader that keeps a file of 160 MiB is found out', async () => {
  const { failures } = await runFileMemoryTrial({ store: 'folder', files: [1], mebibytes: 160, warmUpMebibytes: 8, isKept: true })
  expect(failures.join('\n')).toContain('Resident memory rose')
})
