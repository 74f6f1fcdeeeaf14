/** A process with several writers, which work until it is killed. Started by kill-trial.ts and power-loss-trial.ts. */
import { randomFor } from '../random/seeded-random.ts'
import { openStorage, type StorageAddress } from '../storages/open-storage.ts'
import { ledgerWriter } from './ledger.ts'
import { openTrialVault } from './trial-vault.ts'
import { write } from './writer.ts'

/** What a process is started with, as JSON in its first argument. */
export interface WriterProcess {
  readonly address: StorageAddress
  readonly ledger: string
  readonly name: string
  readonly seed: string
  readonly writers: number
  readonly acknowledgeEarly: boolean
  /** Milliseconds by which its clock is ahead, so that it takes over from one that was killed. Of merging-process.ts alone. */
  readonly aheadMs?: number
}

const { address, ledger, name, seed, writers, acknowledgeEarly }: WriterProcess = JSON.parse(process.argv[2] ?? '')
const vault = await openTrialVault(openStorage(address))
const lines = ledgerWriter(ledger)
await Promise.all(
  Array.from({ length: writers }, (_, index) => {
    const own = `${name}.${index}`
    return write(vault, { name: own, random: randomFor(`${seed} ${own}`), ledger: lines, isOver: () => false, acknowledgeEarly })
  }),
)
