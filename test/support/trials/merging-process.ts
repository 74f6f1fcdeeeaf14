/** A process that writes people with sealed indexes and merges these all the time, until it is killed. Started by merge-trial.ts and power-loss-trial.ts. */
import { isVaultError } from '../../../src/index.ts'
import { INDEXED_RULES, INDEXED_TABLES, insertPeople, writeSomething } from '../indexes/indexed-people.ts'
import { randomFor } from '../random/seeded-random.ts'
import { openStorage } from '../storages/open-storage.ts'
import { openLoose, START_MS } from '../vaults/open-untyped.ts'
import { ledgerWriter } from './ledger.ts'
import type { WriterProcess } from './writer-process.ts'

const { address, ledger, name, seed, aheadMs = 0 }: WriterProcess = JSON.parse(process.argv[2] ?? '')
const clock = { ms: START_MS + aheadMs }
const vault = await openLoose(openStorage(address), INDEXED_TABLES, { rules: INDEXED_RULES, clock })
const lines = ledgerWriter(ledger)
const random = randomFor(`${seed} ${name}`)
const listed = () => vault.session.get('people', { limit: 1000 })
if ((await listed()).records.length === 0) await insertPeople(vault, random)
const people = (await listed()).records.map(({ id }) => id)

/** Clocks of the two processes differ by days where one swept, so that each can take the job of the other. */
async function merge(): Promise<never> {
  for (;;)
    await vault.vault.compact().catch((error: unknown) => {
      if (!isVaultError(error, 'aborted')) throw error
    })
}

void merge()
for (let count = 0; ; count++) {
  const request = `${name}#${count}`
  lines.write({ step: 'attempt', request, writer: name, kind: 'any', changes: {} })
  await writeSomething({ vault, random, people })
  lines.write({ step: 'acknowledged', request, ids: {}, tokens: {} })
}
