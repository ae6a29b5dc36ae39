#!/usr/bin/env python3
"""peers_test.py PEERS [BUILD]: what bench/peers counts and says, and that a cage leaves nothing behind."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(sys.argv.pop(1)).resolve()
sys.dont_write_bytecode = True


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(PEERS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module  # where dataclasses look for it
    loader.exec_module(module)
    return module


run = load('run')
durable = load('durable')
PROVENANCE = {'machine': {'cpus': 2}, 'version': '0.1.0', 'commit': 'abc'}
SUBSCRIBER = '''[7] participant vm:7: new (self)
[7] 1.000  size 1024 total 1000 lost 0 delta 1000 lost 0 rate 1.00 kS/s 8.19 Mb/s (0.10 kS/s 0.82 Mb/s)
[7] 1.000  rss:7.4MB vcsw:6289 ivcsw:2802 tev:1%+1% recvUC:21%+3%
[7] 2.000  size 1024 total 2500 lost 0 delta 1500 lost 0 rate 1.50 kS/s 12.29 Mb/s (0.25 kS/s 2.05 Mb/s)
[7] 3.000  size 1024 total 5000 lost {lost} delta 2500 lost {lost} rate 2.50 kS/s 20.48 Mb/s (0.50 kS/s 4.10 Mb/s)
'''


class Counting(unittest.TestCase):
    def test_a_rate_of_ddsperf_leaves_the_first_second_out(self):
        self.assertEqual(run.cage.ddsperf_rate(SUBSCRIBER.format(lost=0)), 2000)

    def test_lost_messages_make_no_rate(self):
        for text in (SUBSCRIBER.format(lost=3), SUBSCRIBER.splitlines()[1], ''):
            with self.assertRaises(RuntimeError):
                run.cage.ddsperf_rate(text)

    def test_a_figure_compares_medians_of_the_pairs_that_succeeded(self):
        pairs = [{'ours': 30, 'theirs': 3}, {'ours': 10, 'theirs': 1}, {'ours': 20, 'theirs': 5}, {'ours': 99, 'failure': 'gone'}]
        line = run.figure(PROVENANCE, ('corosync', 3, 1024), pairs, 1)
        self.assertEqual((line['median'], line['min'], line['max'], line['repeats']), (20, 10, 30, 3))
        self.assertEqual((line['limit_median'], line['limit_min'], line['limit_max']), (3, 1, 5))
        self.assertAlmostEqual(line['ratio'], 20 / 3)
        self.assertEqual(line['failures'], ['gone'])
        self.assertEqual(line['parameters'], {'peer': 'corosync', 'senders': 3, 'receivers': 3, 'bytes': 1024, 'seconds': 1})
        self.assertEqual(line['commit'], 'abc')

    def test_a_figure_of_failures_alone_has_no_median(self):
        line = run.figure(PROVENANCE, ('zeromq', 3, 100), [{'ours': 1, 'failure': 'gone'}], 1)
        self.assertNotIn('median', line)
        self.assertEqual(line['parameters']['receivers'], 2)

    def test_every_peer_says_what_it_guarantees(self):
        for peer in run.PEERS.values():
            self.assertTrue(all((peer.order, peer.uniform, peer.reliable, peer.copies, peer.packages)))

    def test_corosync_is_told_of_three_nodes(self):
        text = run.cage.corosync_configuration(1, 'udpu')
        self.assertEqual(text.count('ring0_addr'), 3)
        self.assertEqual(text.count('{'), text.count('}'))
        self.assertIn('transport: udpu', text)

    def test_corosync_is_told_to_seal_where_it_is_measured_so(self):
        sealed, plain = (run.cage.corosync_configuration(1, 'knet', sealed) for sealed in (True, False))
        self.assertIn('crypto_cipher: aes256', sealed)
        self.assertIn('crypto_hash: sha256', sealed)
        self.assertIn('keyfile: ', sealed)
        self.assertIn('crypto_cipher: none', plain)
        self.assertEqual(sealed.count('{'), sealed.count('}'))

    def test_nats_seals_for_clients_and_between_servers_where_it_is_measured_so(self):
        sealed, plain = (run.cage.nats_configuration(1, sealed) for sealed in (True, False))
        self.assertEqual(sealed.count('tls {'), 2)
        self.assertEqual(sealed.count('verify: true'), 1)
        self.assertNotIn('tls', plain)
        for text in (sealed, plain):
            self.assertEqual(text.count('{'), text.count('}'))
            self.assertEqual(text.count('nats://'), 2)


class Writing(unittest.TestCase):
    RUNS = [{'writes_per_second': rate, 'p50_us': 1e6 / rate, 'p99_us': 2e6 / rate} for rate in (10, 30, 20)]

    def test_writes_of_a_store_are_beside_those_of_spindrift(self):
        theirs = [{key: value / 10 for key, value in found.items()} for found in self.RUNS] + [{'failure': 'gone'}]
        rate, median, late = durable.figures(PROVENANCE | {'release': '1'}, ('etcd', 1024, 16), self.RUNS, theirs, 1)
        self.assertEqual((rate['median'], rate['min'], rate['max'], rate['repeats']), (20, 10, 30, 3))
        self.assertEqual((rate['limit_median'], rate['limit_min'], rate['limit_max']), (2, 1, 3))
        self.assertAlmostEqual(rate['ratio'], 10)
        self.assertEqual(rate['failures'], ['gone'])
        self.assertEqual(rate['parameters'], {'store': 'etcd', 'clients': 3, 'bytes': 1024, 'outstanding': 16, 'seconds': 1})
        self.assertEqual((median['bench'], median['unit'], median['median']), ('durable write, p50', 'us', 50000))
        self.assertEqual((late['bench'], late['median']), ('durable write, p99', 100000))

    def test_a_store_all_of_whose_runs_failed_has_no_ratio(self):
        for line in durable.figures(PROVENANCE | {'release': '1'}, ('nats', 1024, 1), self.RUNS, [{'failure': 'gone'}], 1):
            self.assertNotIn('ratio', line)
            self.assertNotIn('limit_median', line)

    def test_every_store_says_what_its_clients_know(self):
        for store in durable.STORES.values():
            self.assertTrue(store.done and store.built)

    def test_a_store_that_is_not_there_is_said_to_be_missing_and_the_others_are_measured_on_the_disk(self):
        programs = {'peer_spindrift': 'echo \'{"machine": {}, "release": "", "commit": ""}\'',
                    'writes_spindrift': 'for last; do :; done; test -d "$last" && touch "$last/used" && '
                                        'echo \'{"writes_per_second": 5, "p50_us": 1, "p99_us": 2}\''}
        with tempfile.TemporaryDirectory() as build, tempfile.TemporaryDirectory() as disk:
            for name, script in programs.items():
                program = pathlib.Path(build) / 'bench/peers' / name
                program.parent.mkdir(parents=True, exist_ok=True)
                program.write_text('#!/bin/sh\n' + script + '\n')
                program.chmod(0o755)
            done = subprocess.run([sys.executable, PEERS / 'durable', '--build', build, '--directory', disk, '--only', 'etcd', '--size', '100',
                                   '--outstanding', '1,2', '--repeat', '1', '--json', '-'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if 'ended early' in done.stderr:
                self.skipTest('this machine allows no namespaces')
            self.assertEqual(os.listdir(disk), [])
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(lines), 1 + 2 * 3, done.stderr)
        self.assertIn('writes_etcd', lines[0]['missing'])
        for line in lines[1:]:
            self.assertEqual((line['failures'], line['repeats']), ([], 1))
        self.assertEqual(lines[1]['median'], 5)
        self.assertEqual(done.returncode, 1)


class Running(unittest.TestCase):
    def test_a_peer_that_is_not_there_is_said_to_be_missing(self):
        with tempfile.TemporaryDirectory() as empty:
            program = pathlib.Path(empty) / 'bench/peers/peer_spindrift'
            program.parent.mkdir(parents=True)
            program.write_text('#!/bin/sh\necho \'{"machine": {}, "release": "", "commit": ""}\'\n')
            program.chmod(0o755)
            done = subprocess.run([sys.executable, PEERS / 'run', '--build', empty, '--only', 'zeromq,nats', '--json', '-'],
                                  env=dict(os.environ, PATH='/nowhere'), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line['parameters']['peer'] for line in lines], ['zeromq', 'nats'])
        self.assertIn('peer_zeromq', lines[0]['missing'])
        self.assertIn('nats-server', lines[1]['missing'])
        self.assertEqual(done.returncode, 1)

    def test_an_unknown_peer_is_refused(self):
        done = subprocess.run([sys.executable, PEERS / 'run', '--only', 'nobody'], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('no peer nobody', done.stderr)

    def test_whatever_runs_in_a_cage_ends_with_it_unseen_from_outside(self):
        spaces = lambda: os.listdir('/run/netns') if os.path.isdir('/run/netns') else []  # noqa: E731
        before = spaces()
        inside = (f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(PEERS)!r}); import cage, os, subprocess\n"
                  f"cage.furnish({str(PEERS)!r})\n"
                  "with cage.network('test'):\n"
                  "    sleeper = subprocess.Popen(['sleep', '1000'])\n"
                  "    print(os.getpid(), len(os.listdir('/run/netns')), flush=True)\n"
                  "    sleeper.wait()\n")
        process = run.cage.enter(['-c', inside])
        told = process.stdout.readline()
        if not told:
            process.wait()
            self.skipTest('this machine allows no namespaces')
        self.assertEqual(told.split(), ['1', '3'])
        self.assertEqual(spaces(), before)
        process.kill()
        process.wait()
        with process.stdout as rest:
            self.assertEqual(rest.read(), '')  # its end: nobody is left who could write


if __name__ == '__main__':
    played = unittest.main(verbosity=2, exit=False).result
    if not played.wasSuccessful():
        sys.exit(1)
    for test, reason in played.skipped:
        print(f'skipped: {test}: {reason}')
    sys.exit(77 if played.skipped else 0)
