/** tmp */
import fc from 'fast-check'
import { it } from 'vitest'
import { mkdtempSync } from 'node:fs'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/sqlite-storage.ts'
import { operationLists, PLAYGROUND, replay } from '../support/random-operations.ts'
it('x', async () => {
  const m = memoryStorage(), s = sqliteStorage({filename: mkdtempSync('/tmp/zz-')+'/a.db'})
  await m.prepare([PLAYGROUND]); await s.prepare([PLAYGROUND])
  let conflicts=0, undone=0, found=0, total=0, applied=0
  const t=performance.now()
  await fc.assert(fc.asyncProperty(operationLists(40), async l => { total+=l.length
    const a = await replay(m,l), b = await replay(s,l)
    for(const x of a){ if(/conflict/.test(x))conflicts++; if(/undone/.test(x))undone++; if(/^find: \[\{/.test(x))found++; if(/^update.*true/.test(x))applied++}
    for (const [i,x] of a.entries()) if (x!==b[i]) throw new Error(`op ${i}\n ${x}\n ${b[i]}`) }),{numRuns:200, seed: 5})
  console.log({total,conflicts,undone,found,applied, ms: performance.now()-t|0})
})
