/** Removes from the built declarations where a sentence comes from, if the package does not contain that document: the specification, the decisions, and the pages about the inside. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = 'dist'
const SOURCE = /\s+(?:\* )?Source: (?:specification, "[^"]*"|docs\/(?:decisions\/\d+|inside\/[a-z]+\.md))\./g

for (const name of readdirSync(FOLDER).filter((one) => /\.d\.c?ts$/.test(one))) {
  const path = join(FOLDER, name)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(SOURCE, ''))
}
