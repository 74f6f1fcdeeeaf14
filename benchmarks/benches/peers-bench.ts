/** Bench: what people build or use instead, in the same run: a hand-rolled vault on SQLite and pgcrypto on Postgres. */
import type { Entry } from '../entries.ts'
import { type HandRolledVault, openHandRolledVault } from '../floors/hand-rolled-vault.ts'
import { openPgcryptoTable } from '../floors/pgcrypto-table.ts'
import { compare, measure, type Variant } from '../harness.ts'
import type { Batch } from '../people.ts'
import { BATCH, type Bench, type Scope } from '../scope.ts'
import { fill, fillAndKeep, openPostgresVault, openSqliteVault, type PeopleVault, type StoredPerson } from '../vaults.ts'
import { asked } from './detokenize-bench.ts'
import { drawPositions } from './filled-readers.ts'

export const peersBench: Bench = {
  names: ['peers'],
  async run(scope) {
    const onSqlite = scope.has('sqlite') ? await againstHandRolled(scope) : []
    const onPostgres = scope.has('postgres') ? await againstPgcrypto(scope) : []
    return [...onSqlite, ...onPostgres]
  },
}

const HAND_ROLLED = 'hand-rolled vault'

async function againstHandRolled(scope: Scope): Promise<Entry[]> {
  const { places, people, scale } = scope
  const vault = await openSqliteVault(places.sqliteFile())
  const peerFile = places.sqliteFile()
  const filling = openHandRolledVault(peerFile, 'filling')
  const stored = await fillAndKeep(scale.rows, people.next, vault.insert)
  const tokens = await fillAndKeep(scale.rows, people.next, filling.insert)
  filling.close()
  const peer = openHandRolledVault(peerFile)
  const about = { storage: 'sqlite', rows: scale.rows } as const
  const [ourReads, peerReads] = await measure(
    [detokenizing(scope, vault, stored), peerDetokenizing(scope, peer, tokens)],
    scale.timing,
  )
  const [ourInserts, peerInserts] = await measure(
    [inserting('strongroom', scope, vault.insert), inserting(HAND_ROLLED, scope, peer.insert)],
    scale.timing,
  )
  await vault.close()
  peer.close()
  return [
    compare({ ...about, bench: 'insert 1,000 by a peer', target: 8 }, ourInserts, peerInserts),
    compare({ ...about, bench: 'detokenize 1,000 by a peer', target: 4 }, ourReads, peerReads),
  ]
}

/** Nothing to compare with where the server came without pgcrypto. */
async function againstPgcrypto(scope: Scope): Promise<Entry[]> {
  const { places, people, scale } = scope
  const pool = await places.postgresPool()
  const peer = await openPgcryptoTable(pool, places.postgresName())
  if (peer === undefined) return []
  const vault = await openPostgresVault(pool, places.postgresName())
  await fill(scale.rows, people.next, vault.insert)
  const [ours, theirs] = await measure(
    [inserting('strongroom', scope, vault.insert), inserting('pgcrypto, no tokens', scope, peer.insert)],
    scale.timing,
  )
  await vault.close()
  await peer.close()
  return [compare({ bench: 'insert 1,000 by a peer', storage: 'postgres', rows: scale.rows, target: 5 }, ours, theirs)]
}

function inserting(name: string, { scale, people }: Scope, insert: (batch: Batch) => unknown): Variant {
  let inHand: Batch[] = []
  return {
    name,
    prepare() {
      inHand = Array.from({ length: scale.batches }, () => people.next(BATCH))
    },
    async run() {
      for (const batch of inHand) await insert(batch)
      return inHand.length * BATCH
    },
  }
}

function detokenizing(scope: Scope, vault: PeopleVault, stored: readonly StoredPerson[]): Variant {
  let lists: ReturnType<typeof asked>[][] = []
  return {
    name: 'strongroom',
    prepare() {
      lists = drawPositions(scope, stored.length, BATCH).map((list) => list.map((position) => asked(stored[position])))
    },
    async run() {
      for (const list of lists) await vault.detokenize(list)
      return lists.length * BATCH
    },
  }
}

function peerDetokenizing(scope: Scope, peer: HandRolledVault, tokens: readonly string[]): Variant {
  let lists: string[][] = []
  return {
    name: HAND_ROLLED,
    prepare() {
      lists = drawPositions(scope, tokens.length, BATCH).map((list) => list.map((position) => tokens[position] ?? ''))
    },
    run() {
      for (const list of lists) peer.detokenize(list)
      return lists.length * BATCH
    },
  }
}
