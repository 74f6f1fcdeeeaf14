/** The picture of the architecture shows the imports of the sources as they are, and fits a screen. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { drawArchitecture, PICTURE, SCREEN } from '../../scripts/draw-architecture.ts'

it('docs/architecture.svg shows the modules and imports of src', () => {
  const isCurrent = readFileSync(PICTURE, 'utf8') === drawArchitecture()
  expect(isCurrent, 'docs/architecture.svg is out of date. Run: npm run draw').toBe(true)
})

it('docs/architecture.svg fits a screen', () => {
  const [, width, height] = /<svg [^>]*width="(\d+)" height="(\d+)"/.exec(readFileSync(PICTURE, 'utf8')) ?? []
  expect(Number(width)).toBeLessThanOrEqual(SCREEN.width)
  expect(Number(height)).toBeLessThanOrEqual(SCREEN.height)
})
