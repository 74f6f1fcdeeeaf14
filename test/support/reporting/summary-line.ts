/** A reporter that ends the test run with one line: `412 passed, 0 failed`, with `, 3 skipped` if tests were skipped. */
import type { Reporter, TestModule } from 'vitest/node'

/** Prints the summary line through `print` when the run has ended. */
export function summaryLine(print: (line: string) => void = console.log): Reporter {
  return {
    onTestRunEnd(testModules, unhandledErrors, reason) {
      print(summaryLineOf(testModules, unhandledErrors.length, reason === 'passed'))
    },
  }
}

/** Counts tests. A file or group that could not run counts as one failed test, and so does an error outside of any test. */
function summaryLineOf(testModules: readonly TestModule[], strayErrors: number, isGreen: boolean): string {
  const tests = testModules.flatMap((one) => [...one.children.allTests()])
  const count = (state: 'passed' | 'failed'): number => tests.filter((test) => test.result().state === state).length
  const groups = testModules.flatMap((one) => [one, ...one.children.allSuites()])
  const [passed, failedTests] = [count('passed'), count('failed')]
  const failed = failedTests + strayErrors + groups.filter((one) => one.errors().length > 0).length
  const skipped = tests.length - passed - failedTests
  // A run that failed for another reason (no test found, an interruption) must not look successful.
  const line = `${passed} passed, ${isGreen ? failed : Math.max(failed, 1)} failed`
  return skipped === 0 ? line : `${line}, ${skipped} skipped`
}
