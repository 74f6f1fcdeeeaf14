/** The negative control of the conformance suite: a storage with a fault fails the cases that test for it. */

import { describe, expect, it } from 'vitest'
import { storageCases } from '../../../src/conformance/storage/index.ts'
import { brokenStorage, type FaultName } from './broken-storages.ts'

/** At least one case that must detect each fault. */
const NOTICED_BY: Record<FaultName, readonly string[]> = {
  'get loses the order asked': ['O1', 'O2'],
  'an insert that fails keeps its first rows': ['C16', 'C17'],
  'bytes come out as Buffer': ['B1', 'B3'],
  'the memory of bytes that are inserted is transferred': ['B9'],
  'bytes that are inserted are wiped afterwards': ['B9'],
  'patches forget to compare the version': ['P2', 'P9', 'P10'],
  'patches forget to compare the expected cells': ['K12', 'K13'],
  'a commit keeps what it inserted before a patch missed': ['K2', 'K3', 'K7', 'K10'],
  'NUL is dropped from text': ['N1', 'N5'],
  'a conflict does not name its columns': ['S4', 'T5', 'C1', 'C4'],
  'a transaction rolls nothing back': ['T2', 'T10', 'T13', 'T16', 'T19'],
  'an error is wrapped on its way out of a transaction': ['T2', 'T3', 'T5'],
  'big integers pass through floating point': ['I2', 'I10'],
  'not forgets the unknown': ['F9', 'F10'],
  'a descending page ignores its start': ['O6', 'O9'],
  'a column ends with its first part': ['L1', 'L2'],
  'a column leaves out its nulls': ['L1', 'L2'],
  'a column of bytes ends with its first part': ['L6', 'L7'],
  'a column of bytes leaves out its nulls': ['L6', 'L7'],
  'a column of bytes has those of the row before': ['L6', 'L7'],
  'a read with changes stores them without its row': ['G2', 'G3'],
  'sums are cut to 64 bits': ['M8', 'M9'],
  'a lock is refused': ['T23', 'T24'],
  'it does not say how its transactions run': ['A1', 'T26'],
  'a snapshot reads the newest state': ['W5'],
  'a snapshot lists no columns': ['W1', 'W3'],
  'times of a snapshot are doubles': ['W4'],
  'a counter is the highest id of the rows': ['W9', 'W10'],
  'a purge goes on inside a transaction': ['E2'],
  'a purge deletes rows': ['E1'],
  'a step of a purge cannot end it': ['E3'],
  'no counter is raised': ['W10', 'W12'],
  'an error of a snapshot is wrapped': ['W8'],
  'a page has columns that were not asked for': ['F20', 'T27'],
  'nothing is dropped': ['D1', 'D2', 'D3', 'D5'],
  'a dropped column takes its whole table with it': ['D2', 'D5', 'D7'],
  'a drop ends at what is missing': ['D4'],
  'an index that is built beside writers is not unique': ['S12', 'S13', 'S14'],
}

/** Returns which of some cases fail with a fault. */
async function redCases(fault: FaultName, cases: readonly string[]): Promise<string[]> {
  const red: string[] = []
  for (const { id, run } of storageCases.filter((one) => cases.includes(one.id))) {
    const storage = brokenStorage(fault)
    await run({ open: async () => storage, reopen: async () => storage }).catch(() => red.push(id))
  }
  return red
}

describe('the conformance suite', () => {
  it('has at least 60 cases, each with a unique id at the start of its name', () => {
    expect(storageCases.length).toBeGreaterThanOrEqual(60)
    expect(new Set(storageCases.map(({ id }) => id)).size).toBe(storageCases.length)
    for (const { id, name } of storageCases) {
      expect(id).toMatch(/^[A-Z]\d+$/)
      expect(name.startsWith(`${id} `)).toBe(true)
    }
  })

  // Object.entries forgets that its keys are the record's.
  for (const [fault, cases] of Object.entries(NOTICED_BY) as [FaultName, readonly string[]][]) {
    it(`detects that ${fault}`, async () => {
      expect(await redCases(fault, cases)).toEqual(cases)
    })
  }

  it('fails with what it finds inside a transaction, and waits for no point that is not reached', async () => {
    const failureOf = async (fault: FaultName, id: string) => {
      const storage = brokenStorage(fault)
      const one = storageCases.find((each) => each.id === id)
      return one?.run({ open: async () => storage, reopen: async () => storage }).then(() => 'none', String)
    }
    expect(await failureOf('a lock is refused', 'T23')).toBe('Error: the result should be true and is false')
    expect(await failureOf('a page has columns that were not asked for', 'T27')).toMatch(/^Error: find without columns should be/)
    expect(await failureOf('a read with changes stores them without its row', 'G3')).toMatch(/^Error: .* should be/)
  })
})
