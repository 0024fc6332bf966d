#!/usr/bin/env python3
"""Makes TABLE.md of the newest runs in results/: `table.py > TABLE.md`.

results/NAME-kernelbench.json holds {"device", "driver", "commit", "pytorch", "kernelbench", "ours": [...], "peers": [...]}: lines of
judge --json and of kernelbench/peers.py --json; results/NAME-npbench.json is what npbench/measure writes, and causes.json in the
folders of both says of a program why it is slower than its peer, or why there is none; results/NAME-core.json has the lines of judge --brief --json.
results/NAME-kernelbench2.json and 3 of a GPU hold lines of peers.py --double --json, those of a processor what each was at first."""
import json, math, re
from pathlib import Path

HERE = Path(__file__).parent


def newest(suite):
    file = sorted((HERE / 'results').glob(f'*-{suite}.json'))[-1]
    return file.name, json.loads(file.read_text())


def source_bytes(name):
    number = re.match(r'\d+', name).group()
    files = list((HERE / 'kernelbench').glob(f'*/{number}_*.tile'))
    return sum(f.stat().st_size for f in files)


def summary(ratios):
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f'{len(ratios)} timed: geometric mean {mean:.2f}, {sum(r >= 1 for r in ratios)} at or above it, least {min(ratios):.2f}'


def with_commit(row):
    return row['status'] + (f", {row['commit']}" if 'commit' in row else '')


def kernelbench():
    name, run = newest('kernelbench')
    peers = {row['name']: row for row in run['peers']}
    causes = json.loads((HERE / 'kernelbench/causes.json').read_text())
    ratios, right = [], 0
    missing = [{'name': name, 'status': 'not run', 'us': None} for name in peers if name not in {r['name'] for r in run['ours']}]
    rows = sorted(run['ours'] + missing, key=lambda row: int(row['name'].split('_')[0]))
    lines = []
    for row in rows:
        peer = peers.get(row['name'], {})
        compiled, eager = peer.get('compiled_us'), peer.get('eager_us')
        ratio = compiled / row['us'] if compiled and row['us'] else None
        right += row['status'] == 'right'
        if ratio:
            ratios.append(ratio)
        cells = [row['name'], with_commit(row), f"{row['us'] / 1e3:.3f}" if row['us'] else '', f'{eager / 1e3:.3f}' if eager else '',
                 f'{compiled / 1e3:.3f}' if compiled else '', f'{ratio:.2f}' if ratio else '', str(source_bytes(row['name'])),
                 causes.get(row['name'], '')]
        lines.append('| ' + ' | '.join(cells) + ' |')
    print('# KernelBench, level 1\n')
    print(f"{run['device']}, driver {run['driver']}, commit {run['commit']}; peer: PyTorch {run['pytorch']}, KernelBench {run['kernelbench']}; "
          f'made by `python3 tests/judges/table.py` of {name}.\n')
    if ratios:
        print(f'{right} of {len(rows) - len(missing)} right. Beside `torch.compile`, {summary(ratios)}.\n')
    called = [row['compiled_us'] / row['ours_us'] for row in run['peers'] if row.get('compiled_us') and row.get('ours_us')]
    if called:
        same = sum(bool(row['right']) for row in run['peers'])
        earlier = sum('commit' in row for row in run['peers'])
        print(f"Called from Python as the references are: {same} of {len(run['peers'])} give what PyTorch gives; {summary(called)}.\n")
        if earlier:
            print(f"Rows with a commit are of another run, as are {earlier} of those called from Python.\n")
    print('| operator | ours | ms | eager | torch.compile | ratio | bytes of source | cause |\n|---|---|---|---|---|---|---|---|')
    print('\n'.join(lines))


def source_lines(program):
    """Lines of a program's source without comments and empty ones."""
    for name in (program, program.rstrip('0123456789')): # cholesky2 is cholesky, at other sizes
        for file in (HERE / 'npbench').glob(f'*/{name}.tile'):
            return sum(1 for line in file.read_text().splitlines() if line.strip() and not line.strip().startswith('//'))
    return ''


def npbench():
    name, run = newest('npbench')
    causes = json.loads((HERE / 'npbench/causes.json').read_text())
    rows = sorted(run['ours'], key=lambda row: row['name'])
    ratios = [row['peer_us'] / row['us'] for row in rows]
    print('\n# NPBench\n')
    print(f"{run['machine']}, commit {run['commit']}; peer: plain C loops, {run['compiler']}, -O3 -march=native; one thread each, processor time; "
          f"NPBench {run['npbench']}; made by `python3 tests/judges/table.py` of {name}.\n")
    right = sum(row['status'] == 'right' for row in rows)
    print(f'{right} of 54 right. Beside gcc, {summary(ratios)}.\n')
    print('| program | ours | ms | gcc | ratio | lines of source | cause |\n|---|---|---|---|---|---|---|')
    for row, ratio in zip(rows, ratios):
        cells = [row['name'], row['status'], f"{row['us'] / 1e3:.2f}", f"{row['peer_us'] / 1e3:.2f}", f'{ratio:.2f}',
                 str(source_lines(row['name'])), causes.get(row['name'], '')]
        print('| ' + ' | '.join(cells) + ' |')
    for program in sorted(set(causes) - {row['name'] for row in rows}):
        print(f'| {program} | not there | | | | | {causes[program]} |')


def whole(suite):
    """The newest run at the suite's sizes on a GPU: its file, what ran it, and its rows by name."""
    files = sorted((HERE / 'results').glob(f'*-h200*-{suite}.json'))
    run = json.loads(files[-1].read_text()) if files else {'ours': []}
    return run, {row['name']: row for row in run['ours']}


def milliseconds(row, key):
    return f'{row[key] / 1e3:.2f}' if key in row else ''


def ported(suite, title):
    """Of a level that is ported in part: what each was when its port first ran ("first": right, or whose mistake), and is."""
    name, run = newest(suite)
    gpu, rows = whole(suite)
    first = sum(row['first'] == 'right' for row in run['ours'])
    right = sum(row['status'] == 'right' for row in run['ours'])
    print(f'\n# {title}\n')
    print(f"{run['device']}, small and odd sizes, commit {run['commit']}, KernelBench {run['kernelbench']}; {name}. "
          f"{first} of {len(run['ours'])} right when they first ran, {right} now.\n")
    if rows:
        print(f"{gpu['device']}, driver {gpu['driver']}, the suite's sizes, commit {gpu['commit']}, PyTorch {gpu['pytorch']}: "
              f"{sum(row['right'] for row in rows.values())} of {len(rows)} right by f64.\n")
    print('| operator | first | now | at the suite\'s sizes | elements | ms | eager | bytes of source |\n|---|---|---|---|---|---|---|---|')
    for row in run['ours']:
        number = row['name'].split('_')[0]
        size = sum(f.stat().st_size for f in (HERE / suite).glob(f'*/{number}_*.tile')) or 'shared'
        full = rows.get(row['name'])
        cells = ['right' if full['right'] else 'wrong', str(full['elements'])] if full else ['not run', '']
        cells += [milliseconds(full or {}, key) for key in ('ours_us', 'eager_us')]
        print(f"| {row['name']} | {row['first']} | {row['status']} | {' | '.join(cells)} | {size} |")


def core():
    devices = {}
    for file in sorted((HERE / 'results').glob('*-core.json')):
        run = json.loads(file.read_text())
        devices[run['device']] = run
    counts = {device: {row['family']: row for row in run['ours']} for device, run in devices.items()}
    families = [row['family'] for row in next(iter(devices.values()))['ours']]
    print("\n# What Triton's test_core asks\n")
    print('Right of how many cases, operation x type x shape; ' +
          '; '.join(f"{device}: commit {run['commit']}" for device, run in devices.items()) + '.\n')
    print('| group | ' + ' | '.join(devices) + ' | bytes of the table |\n|---|' + '---|' * (len(devices) + 1))
    for family in families + ['all']:
        cells = []
        for rows in counts.values():
            asked = list(rows.values()) if family == 'all' else [rows[family]] if family in rows else []
            cells.append(f"{sum(r['right'] for r in asked)} of {sum(r['cases'] for r in asked)}" if asked else 'not run')
        tables = [HERE / f'core/{family}.cases'] if family != 'all' else (HERE / 'core').glob('*.cases')
        print(f"| {family} | {' | '.join(cells)} | {sum(f.stat().st_size for f in tables)} |")


if __name__ == '__main__':
    kernelbench()
    npbench()
    ported('kernelbench2', 'KernelBench, level 2: every third operator')
    ported('kernelbench3', 'KernelBench, level 3: six networks and blocks')
    core()
