NAME        false
ROWS
 N  x1      
 L  c_u_x14_
 L  c_u_x17_
 L  c_u_x19_
 L  c_u_x21_
 L  c_u_x23_
 L  c_u_x25_
 L  c_u_x28_
 L  c_u_x30_
 L  c_u_x32_
 L  c_u_x34_
 L  c_u_x36_
 L  c_u_x39_
 L  c_u_x41_
 L  c_u_x43_
 L  c_u_x45_
 L  c_u_x47_
 L  c_u_x50_
 L  c_u_x52_
 L  c_u_x54_
 L  c_u_x56_
 L  c_u_x58_
 L  c_u_x60_
 L  c_u_x61_
 L  c_u_x62_
 L  c_u_x63_
 L  c_u_x64_
 L  c_u_x66_
 L  c_u_x69_
 L  c_u_x71_
 L  c_u_x73_
 L  c_u_x75_
 L  c_u_x76_
 L  c_u_x78_
 L  c_u_x81_
 L  c_u_x83_
 L  c_u_x84_
 L  c_u_x85_
 L  c_u_x86_
 L  c_u_x88_
 L  c_u_x91_
 L  c_u_x92_
 L  c_u_x93_
 L  c_u_x95_
 L  c_u_x97_
 L  c_u_x99_
 L  c_u_x100_
 L  c_u_x101_
 L  c_u_x102_
 L  c_u_x103_
 L  c_u_x104_
 L  c_u_x105_
 L  c_u_x106_
 L  c_u_x107_
 L  c_u_x108_
 L  c_u_x109_
 L  c_u_x110_
 L  c_u_x111_
 L  c_u_x112_
 L  c_u_x113_
 L  c_u_x114_
 L  c_u_x115_
 E  c_e_x116_
 E  c_e_x119_
 E  c_e_x121_
 E  c_e_x125_
 E  c_e_x128_
 E  c_e_x131_
 E  c_e_x134_
 E  c_e_x137_
 E  c_e_x140_
 E  c_e_x143_
 E  c_e_x146_
 E  c_e_x148_
 E  c_e_x150_
 E  c_e_x152_
 E  c_e_x154_
 E  c_e_x156_
 E  c_e_x158_
 E  c_e_x162_
 E  c_e_x166_
 E  c_e_x170_
 E  c_e_x174_
 E  c_e_x178_
 E  c_e_x182_
 E  c_e_x185_
 E  c_e_x188_
 E  c_e_x191_
 E  c_e_x194_
 E  c_e_x197_
 L  c_u_x200_
 L  c_u_x201_
 L  c_u_x202_
 L  c_u_x203_
 L  c_u_x204_
 L  c_u_x205_
 L  c_u_x206_
 L  c_u_x207_
 L  c_u_x208_
 L  c_u_x209_
 L  c_u_x210_
 L  c_u_x211_
 L  c_u_x212_
 L  c_u_x213_
 L  c_u_x214_
 L  c_u_x215_
 L  c_u_x216_
 L  c_u_x217_
 L  c_u_x218_
 L  c_u_x219_
 L  c_u_x220_
 L  c_u_x221_
 L  c_u_x222_
 L  c_u_x223_
 L  c_u_x224_
 L  c_u_x225_
 L  c_u_x226_
 L  c_u_x227_
 L  c_u_x228_
 L  c_u_x229_
 L  c_u_x230_
 L  c_u_x231_
 L  c_u_x232_
 L  c_u_x233_
 L  c_u_x234_
 L  c_u_x235_
 L  c_u_x236_
 L  c_u_x237_
 L  c_u_x238_
 L  c_u_x239_
 L  c_u_x240_
 L  c_u_x241_
 L  c_u_x242_
 L  c_u_x243_
 L  c_u_x244_
 L  c_u_x245_
 L  c_u_x246_
 L  c_u_x247_
 E  c_e_x248_
 L  c_u_x249_
 L  c_u_x250_
 E  c_e_x251_
 L  c_u_x252_
 E  c_e_x253_
 E  c_e_x254_
 E  c_e_x255_
 L  c_u_x256_
 L  c_u_x258_
 E  c_e_x260_
 L  c_u_x261_
 L  c_u_x263_
 L  c_u_x265_
 L  c_u_x267_
 L  c_u_x269_
 L  c_u_x271_
 L  c_u_x273_
 L  c_u_x275_
 L  c_u_x277_
 L  c_u_x279_
 L  c_u_x281_
 L  c_u_x283_
 E  c_e_x285_
 E  c_e_x286_
 E  c_e_x287_
 E  c_e_x288_
 E  c_e_x289_
 E  c_e_x290_
 L  c_u_x291_
 L  c_u_x292_
 L  c_u_x293_
 L  c_u_x294_
 L  c_u_x295_
 L  c_u_x296_
 L  c_u_x297_
 L  c_u_x298_
 L  c_u_x299_
 L  c_u_x300_
 L  c_u_x301_
 L  c_u_x302_
 L  c_u_x303_
 L  c_u_x304_
 L  c_u_x305_
 L  c_u_x306_
 L  c_u_x307_
 L  c_u_x308_
 L  c_u_x309_
 L  c_u_x310_
 L  c_u_x311_
 L  c_u_x312_
 L  c_u_x313_
 L  c_u_x314_
 L  c_u_x315_
 L  c_u_x318_
 L  c_u_x321_
 L  c_u_x324_
 L  c_u_x327_
 L  c_u_x330_
 L  c_u_x333_
 L  c_u_x336_
 L  c_u_x339_
 L  c_u_x342_
 L  c_u_x345_
 L  c_u_x348_
 L  c_u_x351_
 L  c_u_x352_
 L  c_u_x353_
 L  c_u_x354_
 L  c_u_x355_
 L  c_u_x356_
 L  c_u_x357_
 L  c_u_x358_
 L  c_u_x359_
 L  c_u_x360_
 L  c_u_x361_
 L  c_u_x362_
 L  c_u_x363_
 L  c_u_x366_
 L  c_u_x369_
 L  c_u_x372_
 L  c_u_x375_
 L  c_u_x378_
 L  c_u_x381_
 L  c_u_x383_
 L  c_u_x385_
 L  c_u_x387_
 L  c_u_x389_
 L  c_u_x391_
 L  c_u_x393_
 L  c_u_x396_
 L  c_u_x399_
 L  c_u_x402_
 L  c_u_x405_
 L  c_u_x408_
 L  c_u_x411_
 L  c_u_x413_
 L  c_u_x415_
 L  c_u_x417_
 L  c_u_x419_
 L  c_u_x421_
 L  c_u_x423_
 L  c_u_x425_
 L  c_u_x427_
 L  c_u_x429_
 L  c_u_x431_
 L  c_u_x433_
 L  c_u_x435_
 L  c_u_x436_
 L  c_u_x437_
 L  c_u_x438_
 L  c_u_x439_
 L  c_u_x440_
 L  c_u_x441_
 L  c_u_x442_
 L  c_u_x443_
 L  c_u_x444_
 L  c_u_x445_
 L  c_u_x446_
 L  c_u_x447_
 L  c_u_x448_
 L  c_u_x449_
 L  c_u_x450_
 L  c_u_x451_
 L  c_u_x452_
 L  c_u_x453_
 L  c_u_x454_
 L  c_u_x455_
 L  c_u_x456_
 L  c_u_x457_
 L  c_u_x458_
 L  c_u_x459_
 L  c_u_x460_
 L  c_u_x461_
 L  c_u_x462_
 L  c_u_x463_
 L  c_u_x464_
 L  c_u_x465_
 L  c_u_x466_
 L  c_u_x467_
 L  c_u_x468_
 L  c_u_x469_
 L  c_u_x470_
 L  c_u_x471_
 L  c_u_x472_
 L  c_u_x473_
 L  c_u_x474_
 L  c_u_x475_
 L  c_u_x476_
 L  c_u_x477_
 L  c_u_x478_
 L  c_u_x479_
 L  c_u_x480_
 L  c_u_x481_
 L  c_u_x482_
 L  c_u_x483_
 L  c_u_x484_
 L  c_u_x485_
 L  c_u_x486_
 L  c_u_x487_
 L  c_u_x488_
 L  c_u_x489_
 L  c_u_x490_
 L  c_u_x491_
 L  c_u_x492_
 L  c_u_x493_
 L  c_u_x494_
 L  c_u_x495_
 L  c_u_x496_
 L  c_u_x497_
 L  c_u_x498_
 L  c_u_x500_
 L  c_u_x502_
 L  c_u_x504_
 L  c_u_x506_
 L  c_u_x508_
 L  c_u_x510_
 L  c_u_x511_
 L  c_u_x512_
 L  c_u_x513_
 L  c_u_x514_
 L  c_u_x515_
 L  c_u_x516_
 L  c_u_x517_
 L  c_u_x518_
 L  c_u_x519_
 L  c_u_x520_
 L  c_u_x521_
 L  c_u_x522_
 L  c_u_x523_
 L  c_u_x524_
 L  c_u_x525_
 L  c_u_x526_
 L  c_u_x527_
 L  c_u_x528_
 L  c_u_x529_
 L  c_u_x530_
 L  c_u_x531_
 L  c_u_x532_
 L  c_u_x533_
 L  c_u_x534_
 L  c_u_x535_
 L  c_u_x536_
 L  c_u_x537_
 L  c_u_x538_
 L  c_u_x539_
COLUMNS
    x2        x1        92
    MARK0000  'MARKER'                 'INTORG'
    x3        x1        -1
    x3        c_u_x58_  -1
    x3        c_u_x60_  1
    x3        c_u_x99_  1
    x3        c_e_x131_  1
    x3        c_u_x500_  -1
    x3        c_u_x535_  -1
    x4        x1        -1
    x4        c_u_x60_  -1
    x4        c_u_x61_  1
    x4        c_u_x100_  1
    x4        c_e_x134_  1
    x4        c_u_x502_  -1
    x4        c_u_x536_  -1
    x5        x1        -1
    x5        c_u_x61_  -1
    x5        c_u_x62_  1
    x5        c_u_x101_  1
    x5        c_e_x137_  1
    x5        c_u_x504_  -1
    x5        c_u_x537_  -1
    x6        x1        -1
    x6        c_u_x62_  -1
    x6        c_u_x63_  1
    x6        c_u_x102_  1
    x6        c_e_x140_  1
    x6        c_u_x506_  -1
    x6        c_u_x538_  -1
    x7        x1        -1
    x7        c_u_x63_  -1
    x7        c_u_x64_  1
    x7        c_u_x103_  1
    x7        c_e_x143_  1
    x7        c_u_x508_  -1
    x7        c_u_x539_  -1
    x8        x1        -8
    x8        c_u_x75_  -1
    x8        c_u_x76_  1
    x8        c_u_x105_  1
    x8        c_e_x156_  1
    x8        c_u_x515_  -1
    x8        c_u_x539_  -1
    x9        x1        -1
    x9        c_u_x83_  -1
    x9        c_u_x84_  1
    x9        c_u_x107_  1
    x9        c_e_x170_  1
    x9        c_u_x519_  -1
    x10       x1        -1
    x10       c_u_x84_  -1
    x10       c_u_x85_  1
    x10       c_u_x108_  1
    x10       c_e_x174_  1
    x10       c_u_x520_  -1
    x11       x1        -1
    x11       c_u_x85_  -1
    x11       c_u_x86_  1
    x11       c_u_x109_  1
    x11       c_e_x178_  1
    x11       c_u_x521_  -1
    x12       x1        -8
    x12       c_u_x91_  -1
    x12       c_u_x92_  1
    x12       c_u_x111_  1
    x12       c_e_x188_  1
    x12       c_u_x524_  -1
    x13       x1        -8
    x13       c_u_x92_  -1
    x13       c_u_x93_  1
    x13       c_u_x112_  1
    x13       c_e_x191_  1
    x13       c_u_x525_  -1
    x15       c_u_x14_  1
    x15       c_u_x99_  -1
    x15       c_e_x128_  -1
    x15       c_u_x534_  1
    x16       c_u_x14_  -1
    x16       c_u_x17_  1
    x16       c_u_x100_  -1
    x16       c_e_x131_  -1
    x16       c_u_x535_  1
    x18       c_u_x17_  -1
    x18       c_u_x19_  1
    x18       c_u_x101_  -1
    x18       c_e_x134_  -1
    x18       c_u_x536_  1
    x20       c_u_x19_  -1
    x20       c_u_x21_  1
    x20       c_u_x102_  -1
    x20       c_e_x137_  -1
    x20       c_u_x537_  1
    x22       c_u_x21_  -1
    x22       c_u_x23_  1
    x22       c_u_x103_  -1
    x22       c_e_x140_  -1
    x22       c_u_x538_  1
    x24       c_u_x23_  -1
    x24       c_u_x104_  -1
    x24       c_e_x143_  -1
    x24       c_u_x539_  1
    x26       c_u_x25_  1
    x26       c_u_x105_  -1
    x26       c_e_x146_  -1
    x26       c_u_x534_  1
    x27       c_u_x25_  -1
    x27       c_u_x28_  1
    x27       c_u_x106_  -1
    x27       c_e_x148_  -1
    x27       c_u_x535_  1
    x29       c_u_x28_  -1
    x29       c_u_x30_  1
    x29       c_e_x150_  -1
    x29       c_u_x536_  1
    x31       c_u_x30_  -1
    x31       c_u_x32_  1
    x31       c_e_x152_  -1
    x31       c_u_x537_  1
    x33       c_u_x32_  -1
    x33       c_u_x34_  1
    x33       c_e_x154_  -1
    x33       c_u_x538_  1
    x35       c_u_x34_  -1
    x35       c_e_x156_  -1
    x35       c_u_x539_  1
    x37       c_u_x36_  1
    x37       c_u_x107_  -1
    x37       c_e_x158_  -1
    x38       c_u_x36_  -1
    x38       c_u_x39_  1
    x38       c_u_x108_  -1
    x38       c_e_x162_  -1
    x40       c_u_x39_  -1
    x40       c_u_x41_  1
    x40       c_u_x109_  -1
    x40       c_e_x166_  -1
    x42       c_u_x41_  -1
    x42       c_u_x43_  1
    x42       c_u_x110_  -1
    x42       c_e_x170_  -1
    x44       c_u_x43_  -1
    x44       c_u_x45_  1
    x44       c_e_x174_  -1
    x46       c_u_x45_  -1
    x46       c_e_x178_  -1
    x48       c_u_x47_  1
    x48       c_u_x111_  -1
    x48       c_e_x182_  -1
    x49       c_u_x47_  -1
    x49       c_u_x50_  1
    x49       c_u_x112_  -1
    x49       c_e_x185_  -1
    x51       c_u_x50_  -1
    x51       c_u_x52_  1
    x51       c_u_x113_  -1
    x51       c_e_x188_  -1
    x53       c_u_x52_  -1
    x53       c_u_x54_  1
    x53       c_u_x114_  -1
    x53       c_e_x191_  -1
    x55       c_u_x54_  -1
    x55       c_u_x56_  1
    x55       c_u_x115_  -1
    x55       c_e_x194_  -1
    x57       c_u_x56_  -1
    x57       c_e_x197_  -1
    x59       c_u_x58_  1
    x59       c_e_x128_  1
    x59       c_u_x498_  -1
    x59       c_u_x534_  -1
    x65       c_u_x64_  -1
    x65       c_u_x104_  1
    x67       c_u_x66_  1
    x67       c_e_x146_  1
    x67       c_u_x510_  -1
    x67       c_u_x534_  -1
    x68       c_u_x66_  -1
    x68       c_u_x69_  1
    x68       c_e_x148_  1
    x68       c_u_x511_  -1
    x68       c_u_x535_  -1
    x70       c_u_x69_  -1
    x70       c_u_x71_  1
    x70       c_e_x150_  1
    x70       c_u_x512_  -1
    x70       c_u_x536_  -1
    x72       c_u_x71_  -1
    x72       c_u_x73_  1
    x72       c_e_x152_  1
    x72       c_u_x513_  -1
    x72       c_u_x537_  -1
    x74       c_u_x73_  -1
    x74       c_u_x75_  1
    x74       c_e_x154_  1
    x74       c_u_x514_  -1
    x74       c_u_x538_  -1
    x77       c_u_x76_  -1
    x77       c_u_x106_  1
    x79       c_u_x78_  1
    x79       c_e_x158_  1
    x79       c_u_x516_  -1
    x80       c_u_x78_  -1
    x80       c_u_x81_  1
    x80       c_e_x162_  1
    x80       c_u_x517_  -1
    x82       c_u_x81_  -1
    x82       c_u_x83_  1
    x82       c_e_x166_  1
    x82       c_u_x518_  -1
    x87       c_u_x86_  -1
    x87       c_u_x110_  1
    x89       c_u_x88_  1
    x89       c_e_x182_  1
    x89       c_u_x522_  -1
    x90       c_u_x88_  -1
    x90       c_u_x91_  1
    x90       c_e_x185_  1
    x90       c_u_x523_  -1
    x94       c_u_x93_  -1
    x94       c_u_x95_  1
    x94       c_u_x113_  1
    x94       c_e_x194_  1
    x94       c_u_x526_  -1
    x96       c_u_x95_  -1
    x96       c_u_x97_  1
    x96       c_u_x114_  1
    x96       c_e_x197_  1
    x96       c_u_x527_  -1
    x98       c_u_x97_  -1
    x98       c_u_x115_  1
    x117      c_e_x116_  1
    x117      c_u_x206_  -1
    x117      c_u_x207_  -1
    x117      c_u_x208_  -1
    x117      c_u_x209_  -1
    x117      c_u_x210_  -1
    x117      c_u_x211_  -1
    x117      c_e_x248_  -2
    x118      c_e_x116_  1
    x118      c_u_x200_  -1
    x118      c_u_x201_  -1
    x118      c_u_x202_  -1
    x118      c_u_x203_  -1
    x118      c_u_x204_  -1
    x118      c_u_x205_  -1
    x118      c_u_x249_  1
    x118      c_u_x256_  -2
    x118      c_u_x258_  -2
    x118      c_e_x260_  -2
    x118      c_u_x495_  13
    x120      c_e_x119_  1
    x120      c_u_x212_  -1
    x120      c_u_x213_  -1
    x120      c_u_x214_  -1
    x120      c_u_x215_  -1
    x120      c_u_x216_  -1
    x120      c_u_x217_  -1
    x120      c_u_x250_  5
    x120      c_u_x496_  129
    x122      c_e_x121_  1
    x122      c_u_x224_  -1
    x122      c_u_x225_  -1
    x122      c_u_x226_  -1
    x122      c_u_x227_  -1
    x122      c_u_x228_  -1
    x122      c_u_x229_  -1
    x122      c_e_x251_  -6
    x123      c_e_x121_  1
    x123      c_u_x218_  -1
    x123      c_u_x219_  -1
    x123      c_u_x220_  -1
    x123      c_u_x221_  -1
    x123      c_u_x222_  -1
    x123      c_u_x223_  -1
    x123      c_u_x252_  3
    x123      c_u_x497_  32
    x124      c_e_x121_  1
    x124      c_u_x230_  -1
    x124      c_u_x231_  -1
    x124      c_u_x232_  -1
    x124      c_u_x233_  -1
    x124      c_u_x234_  -1
    x124      c_u_x235_  -1
    x124      c_e_x253_  -6
    x126      c_e_x125_  1
    x126      c_u_x236_  -1
    x126      c_u_x237_  -1
    x126      c_u_x238_  -1
    x126      c_u_x239_  -1
    x126      c_u_x240_  -1
    x126      c_u_x241_  -1
    x126      c_e_x254_  -2
    x127      c_e_x125_  1
    x127      c_u_x242_  -1
    x127      c_u_x243_  -1
    x127      c_u_x244_  -1
    x127      c_u_x245_  -1
    x127      c_u_x246_  -1
    x127      c_u_x247_  -1
    x127      c_e_x255_  -2
    x129      c_e_x128_  1
    x129      c_u_x200_  1
    x129      c_u_x249_  -1
    x129      c_u_x261_  -2
    x129      c_u_x273_  -2
    x129      c_e_x285_  -2
    x129      c_u_x303_  1
    x129      c_u_x309_  1
    x129      c_u_x315_  1
    x129      c_u_x333_  1
    x129      c_u_x423_  -1
    x130      c_e_x128_  1
    x130      c_u_x206_  1
    x130      c_e_x248_  1
    x130      c_u_x303_  4
    x132      c_e_x131_  1
    x132      c_u_x201_  1
    x132      c_u_x249_  -1
    x132      c_u_x263_  -2
    x132      c_u_x275_  -2
    x132      c_e_x286_  -2
    x132      c_u_x304_  1
    x132      c_u_x310_  1
    x132      c_u_x318_  1
    x132      c_u_x336_  1
    x132      c_u_x425_  -1
    x133      c_e_x131_  1
    x133      c_u_x207_  1
    x133      c_e_x248_  1
    x133      c_u_x304_  4
    x135      c_e_x134_  1
    x135      c_u_x202_  1
    x135      c_u_x249_  -1
    x135      c_u_x265_  -2
    x135      c_u_x277_  -2
    x135      c_e_x287_  -2
    x135      c_u_x305_  1
    x135      c_u_x311_  1
    x135      c_u_x321_  1
    x135      c_u_x339_  1
    x135      c_u_x427_  -1
    x136      c_e_x134_  1
    x136      c_u_x208_  1
    x136      c_e_x248_  1
    x136      c_u_x305_  4
    x138      c_e_x137_  1
    x138      c_u_x203_  1
    x138      c_u_x249_  -1
    x138      c_u_x267_  -2
    x138      c_u_x279_  -2
    x138      c_e_x288_  -2
    x138      c_u_x306_  1
    x138      c_u_x312_  1
    x138      c_u_x324_  1
    x138      c_u_x342_  1
    x138      c_u_x429_  -1
    x139      c_e_x137_  1
    x139      c_u_x209_  1
    x139      c_e_x248_  1
    x139      c_u_x306_  4
    x141      c_e_x140_  1
    x141      c_u_x204_  1
    x141      c_u_x249_  -1
    x141      c_u_x269_  -2
    x141      c_u_x281_  -2
    x141      c_e_x289_  -2
    x141      c_u_x307_  1
    x141      c_u_x313_  1
    x141      c_u_x327_  1
    x141      c_u_x345_  1
    x141      c_u_x431_  -1
    x142      c_e_x140_  1
    x142      c_u_x210_  1
    x142      c_e_x248_  1
    x142      c_u_x307_  4
    x144      c_e_x143_  1
    x144      c_u_x205_  1
    x144      c_u_x249_  -1
    x144      c_u_x271_  -2
    x144      c_u_x283_  -2
    x144      c_e_x290_  -2
    x144      c_u_x308_  1
    x144      c_u_x314_  1
    x144      c_u_x330_  1
    x144      c_u_x348_  1
    x144      c_u_x433_  -1
    x145      c_e_x143_  1
    x145      c_u_x211_  1
    x145      c_e_x248_  1
    x145      c_u_x308_  4
    x147      c_e_x146_  1
    x147      c_u_x212_  1
    x147      c_u_x250_  -1
    x147      c_u_x303_  1
    x147      c_u_x309_  1
    x147      c_u_x315_  1
    x147      c_u_x333_  1
    x147      c_u_x435_  -1
    x147      c_u_x447_  1
    x147      c_u_x453_  1
    x147      c_u_x459_  1
    x147      c_u_x465_  1
    x149      c_e_x148_  1
    x149      c_u_x213_  1
    x149      c_u_x250_  -1
    x149      c_u_x304_  1
    x149      c_u_x310_  1
    x149      c_u_x318_  1
    x149      c_u_x336_  1
    x149      c_u_x436_  -1
    x149      c_u_x448_  1
    x149      c_u_x454_  1
    x149      c_u_x460_  1
    x149      c_u_x466_  1
    x151      c_e_x150_  1
    x151      c_u_x214_  1
    x151      c_u_x250_  -1
    x151      c_u_x305_  1
    x151      c_u_x311_  1
    x151      c_u_x321_  1
    x151      c_u_x339_  1
    x151      c_u_x437_  -1
    x151      c_u_x449_  1
    x151      c_u_x455_  1
    x151      c_u_x461_  1
    x151      c_u_x467_  1
    x153      c_e_x152_  1
    x153      c_u_x215_  1
    x153      c_u_x250_  -1
    x153      c_u_x306_  1
    x153      c_u_x312_  1
    x153      c_u_x324_  1
    x153      c_u_x342_  1
    x153      c_u_x438_  -1
    x153      c_u_x450_  1
    x153      c_u_x456_  1
    x153      c_u_x462_  1
    x153      c_u_x468_  1
    x155      c_e_x154_  1
    x155      c_u_x216_  1
    x155      c_u_x250_  -1
    x155      c_u_x307_  1
    x155      c_u_x313_  1
    x155      c_u_x327_  1
    x155      c_u_x345_  1
    x155      c_u_x439_  -1
    x155      c_u_x451_  1
    x155      c_u_x457_  1
    x155      c_u_x463_  1
    x155      c_u_x469_  1
    x157      c_e_x156_  1
    x157      c_u_x217_  1
    x157      c_u_x250_  -1
    x157      c_u_x308_  1
    x157      c_u_x314_  1
    x157      c_u_x330_  1
    x157      c_u_x348_  1
    x157      c_u_x440_  -1
    x157      c_u_x452_  1
    x157      c_u_x458_  1
    x157      c_u_x464_  1
    x157      c_u_x470_  1
    x159      c_e_x158_  1
    x159      c_u_x218_  1
    x159      c_u_x252_  -1
    x159      c_u_x303_  1
    x159      c_u_x309_  1
    x159      c_u_x315_  1
    x159      c_u_x333_  1
    x159      c_u_x441_  -1
    x159      c_u_x471_  1
    x159      c_u_x477_  1
    x159      c_u_x483_  1
    x159      c_u_x489_  1
    x160      c_e_x158_  1
    x160      c_u_x224_  1
    x160      c_e_x251_  1
    x160      c_u_x303_  2
    x161      c_e_x158_  1
    x161      c_u_x230_  1
    x161      c_e_x253_  1
    x161      c_u_x309_  2
    x163      c_e_x162_  1
    x163      c_u_x219_  1
    x163      c_u_x252_  -1
    x163      c_u_x304_  1
    x163      c_u_x310_  1
    x163      c_u_x318_  1
    x163      c_u_x336_  1
    x163      c_u_x442_  -1
    x163      c_u_x472_  1
    x163      c_u_x478_  1
    x163      c_u_x484_  1
    x163      c_u_x490_  1
    x164      c_e_x162_  1
    x164      c_u_x225_  1
    x164      c_e_x251_  1
    x164      c_u_x304_  2
    x165      c_e_x162_  1
    x165      c_u_x231_  1
    x165      c_e_x253_  1
    x165      c_u_x310_  2
    x167      c_e_x166_  1
    x167      c_u_x220_  1
    x167      c_u_x252_  -1
    x167      c_u_x305_  1
    x167      c_u_x311_  1
    x167      c_u_x321_  1
    x167      c_u_x339_  1
    x167      c_u_x443_  -1
    x167      c_u_x473_  1
    x167      c_u_x479_  1
    x167      c_u_x485_  1
    x167      c_u_x491_  1
    x168      c_e_x166_  1
    x168      c_u_x226_  1
    x168      c_e_x251_  1
    x168      c_u_x305_  2
    x169      c_e_x166_  1
    x169      c_u_x232_  1
    x169      c_e_x253_  1
    x169      c_u_x311_  2
    x171      c_e_x170_  1
    x171      c_u_x221_  1
    x171      c_u_x252_  -1
    x171      c_u_x306_  1
    x171      c_u_x312_  1
    x171      c_u_x324_  1
    x171      c_u_x342_  1
    x171      c_u_x444_  -1
    x171      c_u_x474_  1
    x171      c_u_x480_  1
    x171      c_u_x486_  1
    x171      c_u_x492_  1
    x172      c_e_x170_  1
    x172      c_u_x227_  1
    x172      c_e_x251_  1
    x172      c_u_x306_  2
    x173      c_e_x170_  1
    x173      c_u_x233_  1
    x173      c_e_x253_  1
    x173      c_u_x312_  2
    x175      c_e_x174_  1
    x175      c_u_x222_  1
    x175      c_u_x252_  -1
    x175      c_u_x307_  1
    x175      c_u_x313_  1
    x175      c_u_x327_  1
    x175      c_u_x345_  1
    x175      c_u_x445_  -1
    x175      c_u_x475_  1
    x175      c_u_x481_  1
    x175      c_u_x487_  1
    x175      c_u_x493_  1
    x176      c_e_x174_  1
    x176      c_u_x228_  1
    x176      c_e_x251_  1
    x176      c_u_x307_  2
    x177      c_e_x174_  1
    x177      c_u_x234_  1
    x177      c_e_x253_  1
    x177      c_u_x313_  2
    x179      c_e_x178_  1
    x179      c_u_x223_  1
    x179      c_u_x252_  -1
    x179      c_u_x308_  1
    x179      c_u_x314_  1
    x179      c_u_x330_  1
    x179      c_u_x348_  1
    x179      c_u_x446_  -1
    x179      c_u_x476_  1
    x179      c_u_x482_  1
    x179      c_u_x488_  1
    x179      c_u_x494_  1
    x180      c_e_x178_  1
    x180      c_u_x229_  1
    x180      c_e_x251_  1
    x180      c_u_x308_  2
    x181      c_e_x178_  1
    x181      c_u_x235_  1
    x181      c_e_x253_  1
    x181      c_u_x314_  2
    x183      c_e_x182_  1
    x183      c_u_x236_  1
    x183      c_e_x254_  1
    x183      c_u_x303_  1
    x184      c_e_x182_  1
    x184      c_u_x242_  1
    x184      c_e_x255_  1
    x184      c_u_x309_  1
    x186      c_e_x185_  1
    x186      c_u_x237_  1
    x186      c_e_x254_  1
    x186      c_u_x304_  1
    x187      c_e_x185_  1
    x187      c_u_x243_  1
    x187      c_e_x255_  1
    x187      c_u_x310_  1
    x189      c_e_x188_  1
    x189      c_u_x238_  1
    x189      c_e_x254_  1
    x189      c_u_x305_  1
    x190      c_e_x188_  1
    x190      c_u_x244_  1
    x190      c_e_x255_  1
    x190      c_u_x311_  1
    x192      c_e_x191_  1
    x192      c_u_x239_  1
    x192      c_e_x254_  1
    x192      c_u_x306_  1
    x193      c_e_x191_  1
    x193      c_u_x245_  1
    x193      c_e_x255_  1
    x193      c_u_x312_  1
    x195      c_e_x194_  1
    x195      c_u_x240_  1
    x195      c_e_x254_  1
    x195      c_u_x307_  1
    x196      c_e_x194_  1
    x196      c_u_x246_  1
    x196      c_e_x255_  1
    x196      c_u_x313_  1
    x198      c_e_x197_  1
    x198      c_u_x241_  1
    x198      c_e_x254_  1
    x198      c_u_x308_  1
    x199      c_e_x197_  1
    x199      c_u_x247_  1
    x199      c_e_x255_  1
    x199      c_u_x314_  1
    x257      c_u_x256_  1
    x257      c_e_x260_  1
    x257      c_u_x291_  -1
    x257      c_u_x292_  -1
    x257      c_u_x293_  -1
    x257      c_u_x294_  -1
    x257      c_u_x295_  -1
    x257      c_u_x296_  -1
    x259      c_u_x258_  1
    x259      c_e_x260_  1
    x259      c_u_x297_  -1
    x259      c_u_x298_  -1
    x259      c_u_x299_  -1
    x259      c_u_x300_  -1
    x259      c_u_x301_  -1
    x259      c_u_x302_  -1
    x262      c_u_x261_  1
    x262      c_e_x285_  1
    x262      c_u_x291_  1
    x262      c_u_x303_  1
    x264      c_u_x263_  1
    x264      c_e_x286_  1
    x264      c_u_x292_  1
    x264      c_u_x304_  1
    x266      c_u_x265_  1
    x266      c_e_x287_  1
    x266      c_u_x293_  1
    x266      c_u_x305_  1
    x268      c_u_x267_  1
    x268      c_e_x288_  1
    x268      c_u_x294_  1
    x268      c_u_x306_  1
    x270      c_u_x269_  1
    x270      c_e_x289_  1
    x270      c_u_x295_  1
    x270      c_u_x307_  1
    x272      c_u_x271_  1
    x272      c_e_x290_  1
    x272      c_u_x296_  1
    x272      c_u_x308_  1
    x274      c_u_x273_  1
    x274      c_e_x285_  1
    x274      c_u_x297_  1
    x274      c_u_x309_  1
    x276      c_u_x275_  1
    x276      c_e_x286_  1
    x276      c_u_x298_  1
    x276      c_u_x310_  1
    x278      c_u_x277_  1
    x278      c_e_x287_  1
    x278      c_u_x299_  1
    x278      c_u_x311_  1
    x280      c_u_x279_  1
    x280      c_e_x288_  1
    x280      c_u_x300_  1
    x280      c_u_x312_  1
    x282      c_u_x281_  1
    x282      c_e_x289_  1
    x282      c_u_x301_  1
    x282      c_u_x313_  1
    x284      c_u_x283_  1
    x284      c_e_x290_  1
    x284      c_u_x302_  1
    x284      c_u_x314_  1
    x316      c_u_x315_  -1
    x316      c_u_x351_  -1
    x316      c_u_x459_  1
    x316      c_u_x483_  1
    x317      c_u_x315_  -1
    x317      c_u_x351_  1
    x317      c_u_x447_  1
    x317      c_u_x471_  1
    x319      c_u_x318_  -1
    x319      c_u_x352_  -1
    x319      c_u_x460_  1
    x319      c_u_x484_  1
    x320      c_u_x318_  -1
    x320      c_u_x352_  1
    x320      c_u_x448_  1
    x320      c_u_x472_  1
    x322      c_u_x321_  -1
    x322      c_u_x353_  -1
    x322      c_u_x461_  1
    x322      c_u_x485_  1
    x323      c_u_x321_  -1
    x323      c_u_x353_  1
    x323      c_u_x449_  1
    x323      c_u_x473_  1
    x325      c_u_x324_  -1
    x325      c_u_x354_  -1
    x325      c_u_x462_  1
    x325      c_u_x486_  1
    x326      c_u_x324_  -1
    x326      c_u_x354_  1
    x326      c_u_x450_  1
    x326      c_u_x474_  1
    x328      c_u_x327_  -1
    x328      c_u_x355_  -1
    x328      c_u_x463_  1
    x328      c_u_x487_  1
    x329      c_u_x327_  -1
    x329      c_u_x355_  1
    x329      c_u_x451_  1
    x329      c_u_x475_  1
    x331      c_u_x330_  -1
    x331      c_u_x356_  -1
    x331      c_u_x464_  1
    x331      c_u_x488_  1
    x332      c_u_x330_  -1
    x332      c_u_x356_  1
    x332      c_u_x452_  1
    x332      c_u_x476_  1
    x334      c_u_x333_  -1
    x334      c_u_x357_  -1
    x334      c_u_x465_  1
    x334      c_u_x489_  1
    x335      c_u_x333_  -1
    x335      c_u_x357_  1
    x335      c_u_x453_  1
    x335      c_u_x477_  1
    x337      c_u_x336_  -1
    x337      c_u_x358_  -1
    x337      c_u_x466_  1
    x337      c_u_x490_  1
    x338      c_u_x336_  -1
    x338      c_u_x358_  1
    x338      c_u_x454_  1
    x338      c_u_x478_  1
    x340      c_u_x339_  -1
    x340      c_u_x359_  -1
    x340      c_u_x467_  1
    x340      c_u_x491_  1
    x341      c_u_x339_  -1
    x341      c_u_x359_  1
    x341      c_u_x455_  1
    x341      c_u_x479_  1
    x343      c_u_x342_  -1
    x343      c_u_x360_  -1
    x343      c_u_x468_  1
    x343      c_u_x492_  1
    x344      c_u_x342_  -1
    x344      c_u_x360_  1
    x344      c_u_x456_  1
    x344      c_u_x480_  1
    x346      c_u_x345_  -1
    x346      c_u_x361_  -1
    x346      c_u_x469_  1
    x346      c_u_x493_  1
    x347      c_u_x345_  -1
    x347      c_u_x361_  1
    x347      c_u_x457_  1
    x347      c_u_x481_  1
    x349      c_u_x348_  -1
    x349      c_u_x362_  -1
    x349      c_u_x470_  1
    x349      c_u_x494_  1
    x350      c_u_x348_  -1
    x350      c_u_x362_  1
    x350      c_u_x458_  1
    x350      c_u_x482_  1
    x364      c_u_x363_  -1
    x364      c_u_x435_  1
    x364      c_u_x496_  -26
    x365      c_u_x363_  1
    x365      c_u_x381_  -1
    x365      c_u_x447_  1
    x365      c_u_x453_  1
    x365      c_u_x496_  -3
    x367      c_u_x366_  -1
    x367      c_u_x436_  1
    x367      c_u_x496_  -26
    x368      c_u_x366_  1
    x368      c_u_x383_  -1
    x368      c_u_x448_  1
    x368      c_u_x454_  1
    x368      c_u_x496_  -3
    x370      c_u_x369_  -1
    x370      c_u_x437_  1
    x370      c_u_x496_  -26
    x371      c_u_x369_  1
    x371      c_u_x385_  -1
    x371      c_u_x449_  1
    x371      c_u_x455_  1
    x371      c_u_x496_  -3
    x373      c_u_x372_  -1
    x373      c_u_x438_  1
    x373      c_u_x496_  -26
    x374      c_u_x372_  1
    x374      c_u_x387_  -1
    x374      c_u_x450_  1
    x374      c_u_x456_  1
    x374      c_u_x496_  -3
    x376      c_u_x375_  -1
    x376      c_u_x439_  1
    x376      c_u_x496_  -26
    x377      c_u_x375_  1
    x377      c_u_x389_  -1
    x377      c_u_x451_  1
    x377      c_u_x457_  1
    x377      c_u_x496_  -3
    x379      c_u_x378_  -1
    x379      c_u_x440_  1
    x379      c_u_x496_  -26
    x380      c_u_x378_  1
    x380      c_u_x391_  -1
    x380      c_u_x452_  1
    x380      c_u_x458_  1
    x380      c_u_x496_  -3
    x382      c_u_x381_  1
    x382      c_u_x459_  1
    x382      c_u_x465_  1
    x382      c_u_x496_  -3
    x384      c_u_x383_  1
    x384      c_u_x460_  1
    x384      c_u_x466_  1
    x384      c_u_x496_  -3
    x386      c_u_x385_  1
    x386      c_u_x461_  1
    x386      c_u_x467_  1
    x386      c_u_x496_  -3
    x388      c_u_x387_  1
    x388      c_u_x462_  1
    x388      c_u_x468_  1
    x388      c_u_x496_  -3
    x390      c_u_x389_  1
    x390      c_u_x463_  1
    x390      c_u_x469_  1
    x390      c_u_x496_  -3
    x392      c_u_x391_  1
    x392      c_u_x464_  1
    x392      c_u_x470_  1
    x392      c_u_x496_  -3
    x394      c_u_x393_  -1
    x394      c_u_x441_  1
    x394      c_u_x497_  -9
    x395      c_u_x393_  1
    x395      c_u_x411_  -1
    x395      c_u_x471_  1
    x395      c_u_x477_  1
    x395      c_u_x497_  -1
    x397      c_u_x396_  -1
    x397      c_u_x442_  1
    x397      c_u_x497_  -9
    x398      c_u_x396_  1
    x398      c_u_x413_  -1
    x398      c_u_x472_  1
    x398      c_u_x478_  1
    x398      c_u_x497_  -1
    x400      c_u_x399_  -1
    x400      c_u_x443_  1
    x400      c_u_x497_  -9
    x401      c_u_x399_  1
    x401      c_u_x415_  -1
    x401      c_u_x473_  1
    x401      c_u_x479_  1
    x401      c_u_x497_  -1
    x403      c_u_x402_  -1
    x403      c_u_x444_  1
    x403      c_u_x497_  -9
    x404      c_u_x402_  1
    x404      c_u_x417_  -1
    x404      c_u_x474_  1
    x404      c_u_x480_  1
    x404      c_u_x497_  -1
    x406      c_u_x405_  -1
    x406      c_u_x445_  1
    x406      c_u_x497_  -9
    x407      c_u_x405_  1
    x407      c_u_x419_  -1
    x407      c_u_x475_  1
    x407      c_u_x481_  1
    x407      c_u_x497_  -1
    x409      c_u_x408_  -1
    x409      c_u_x446_  1
    x409      c_u_x497_  -9
    x410      c_u_x408_  1
    x410      c_u_x421_  -1
    x410      c_u_x476_  1
    x410      c_u_x482_  1
    x410      c_u_x497_  -1
    x412      c_u_x411_  1
    x412      c_u_x483_  1
    x412      c_u_x489_  1
    x412      c_u_x497_  -1
    x414      c_u_x413_  1
    x414      c_u_x484_  1
    x414      c_u_x490_  1
    x414      c_u_x497_  -1
    x416      c_u_x415_  1
    x416      c_u_x485_  1
    x416      c_u_x491_  1
    x416      c_u_x497_  -1
    x418      c_u_x417_  1
    x418      c_u_x486_  1
    x418      c_u_x492_  1
    x418      c_u_x497_  -1
    x420      c_u_x419_  1
    x420      c_u_x487_  1
    x420      c_u_x493_  1
    x420      c_u_x497_  -1
    x422      c_u_x421_  1
    x422      c_u_x488_  1
    x422      c_u_x494_  1
    x422      c_u_x497_  -1
    x424      c_u_x423_  1
    x424      c_u_x495_  -13
    x426      c_u_x425_  1
    x426      c_u_x495_  -13
    x428      c_u_x427_  1
    x428      c_u_x495_  -13
    x430      c_u_x429_  1
    x430      c_u_x495_  -13
    x432      c_u_x431_  1
    x432      c_u_x495_  -13
    x434      c_u_x433_  1
    x434      c_u_x495_  -13
    x499      c_u_x498_  1
    x499      c_u_x510_  1
    x499      c_u_x516_  1
    x499      c_u_x522_  1
    x499      c_u_x528_  1
    x499      c_u_x533_  -1
    x501      c_u_x500_  1
    x501      c_u_x511_  1
    x501      c_u_x517_  1
    x501      c_u_x523_  1
    x501      c_u_x528_  -1
    x501      c_u_x529_  1
    x501      c_u_x533_  -1
    x503      c_u_x502_  1
    x503      c_u_x512_  1
    x503      c_u_x518_  1
    x503      c_u_x524_  1
    x503      c_u_x529_  -1
    x503      c_u_x530_  1
    x503      c_u_x533_  -1
    x505      c_u_x504_  1
    x505      c_u_x513_  1
    x505      c_u_x519_  1
    x505      c_u_x525_  1
    x505      c_u_x530_  -1
    x505      c_u_x531_  1
    x505      c_u_x533_  -1
    x507      c_u_x506_  1
    x507      c_u_x514_  1
    x507      c_u_x520_  1
    x507      c_u_x526_  1
    x507      c_u_x531_  -1
    x507      c_u_x532_  1
    x507      c_u_x533_  -1
    x509      c_u_x508_  1
    x509      c_u_x515_  1
    x509      c_u_x521_  1
    x509      c_u_x527_  1
    x509      c_u_x532_  -1
    x509      c_u_x533_  -1
    MARK0001  'MARKER'                 'INTEND'
RHS
    RHS_V     c_e_x116_  1
    RHS_V     c_e_x119_  1
    RHS_V     c_e_x121_  1
    RHS_V     c_e_x125_  1
    RHS_V     c_u_x303_  4
    RHS_V     c_u_x304_  4
    RHS_V     c_u_x305_  4
    RHS_V     c_u_x306_  4
    RHS_V     c_u_x307_  4
    RHS_V     c_u_x308_  4
    RHS_V     c_u_x309_  3
    RHS_V     c_u_x310_  3
    RHS_V     c_u_x311_  3
    RHS_V     c_u_x312_  3
    RHS_V     c_u_x313_  3
    RHS_V     c_u_x314_  3
    RHS_V     c_u_x315_  1
    RHS_V     c_u_x318_  1
    RHS_V     c_u_x321_  1
    RHS_V     c_u_x324_  1
    RHS_V     c_u_x327_  1
    RHS_V     c_u_x330_  1
    RHS_V     c_u_x333_  1
    RHS_V     c_u_x336_  1
    RHS_V     c_u_x339_  1
    RHS_V     c_u_x342_  1
    RHS_V     c_u_x345_  1
    RHS_V     c_u_x348_  1
    RHS_V     c_u_x447_  2
    RHS_V     c_u_x448_  2
    RHS_V     c_u_x449_  2
    RHS_V     c_u_x450_  2
    RHS_V     c_u_x451_  2
    RHS_V     c_u_x452_  2
    RHS_V     c_u_x453_  2
    RHS_V     c_u_x454_  2
    RHS_V     c_u_x455_  2
    RHS_V     c_u_x456_  2
    RHS_V     c_u_x457_  2
    RHS_V     c_u_x458_  2
    RHS_V     c_u_x459_  2
    RHS_V     c_u_x460_  2
    RHS_V     c_u_x461_  2
    RHS_V     c_u_x462_  2
    RHS_V     c_u_x463_  2
    RHS_V     c_u_x464_  2
    RHS_V     c_u_x465_  2
    RHS_V     c_u_x466_  2
    RHS_V     c_u_x467_  2
    RHS_V     c_u_x468_  2
    RHS_V     c_u_x469_  2
    RHS_V     c_u_x470_  2
    RHS_V     c_u_x471_  2
    RHS_V     c_u_x472_  2
    RHS_V     c_u_x473_  2
    RHS_V     c_u_x474_  2
    RHS_V     c_u_x475_  2
    RHS_V     c_u_x476_  2
    RHS_V     c_u_x477_  2
    RHS_V     c_u_x478_  2
    RHS_V     c_u_x479_  2
    RHS_V     c_u_x480_  2
    RHS_V     c_u_x481_  2
    RHS_V     c_u_x482_  2
    RHS_V     c_u_x483_  2
    RHS_V     c_u_x484_  2
    RHS_V     c_u_x485_  2
    RHS_V     c_u_x486_  2
    RHS_V     c_u_x487_  2
    RHS_V     c_u_x488_  2
    RHS_V     c_u_x489_  2
    RHS_V     c_u_x490_  2
    RHS_V     c_u_x491_  2
    RHS_V     c_u_x492_  2
    RHS_V     c_u_x493_  2
    RHS_V     c_u_x494_  2
    RHS_V     c_u_x534_  1
    RHS_V     c_u_x535_  1
    RHS_V     c_u_x536_  1
    RHS_V     c_u_x537_  1
    RHS_V     c_u_x538_  1
    RHS_V     c_u_x539_  1
BOUNDS
 FX BOUND     x2        1
 BV BOUND     x3      
 BV BOUND     x4      
 BV BOUND     x5      
 BV BOUND     x6      
 BV BOUND     x7      
 BV BOUND     x8      
 BV BOUND     x9      
 BV BOUND     x10     
 BV BOUND     x11     
 BV BOUND     x12     
 BV BOUND     x13     
 BV BOUND     x15     
 BV BOUND     x16     
 BV BOUND     x18     
 BV BOUND     x20     
 BV BOUND     x22     
 FX BOUND     x24       1
 BV BOUND     x26     
 FX BOUND     x27       1
 FX BOUND     x29       1
 FX BOUND     x31       1
 FX BOUND     x33       1
 FX BOUND     x35       1
 BV BOUND     x37     
 BV BOUND     x38     
 BV BOUND     x40     
 FX BOUND     x42       1
 FX BOUND     x44       1
 FX BOUND     x46       1
 BV BOUND     x48     
 BV BOUND     x49     
 FX BOUND     x51       1
 FX BOUND     x53       1
 FX BOUND     x55       1
 FX BOUND     x57       1
 FX BOUND     x59       0
 FX BOUND     x65       1
 FX BOUND     x67       0
 FX BOUND     x68       0
 FX BOUND     x70       0
 FX BOUND     x72       0
 FX BOUND     x74       0
 FX BOUND     x77       1
 FX BOUND     x79       0
 FX BOUND     x80       0
 FX BOUND     x82       0
 FX BOUND     x87       1
 FX BOUND     x89       0
 FX BOUND     x90       0
 FX BOUND     x94       1
 FX BOUND     x96       1
 FX BOUND     x98       1
 BV BOUND     x117    
 BV BOUND     x118    
 BV BOUND     x120    
 BV BOUND     x122    
 BV BOUND     x123    
 BV BOUND     x124    
 BV BOUND     x126    
 BV BOUND     x127    
 BV BOUND     x129    
 BV BOUND     x130    
 BV BOUND     x132    
 BV BOUND     x133    
 BV BOUND     x135    
 BV BOUND     x136    
 BV BOUND     x138    
 BV BOUND     x139    
 BV BOUND     x141    
 BV BOUND     x142    
 BV BOUND     x144    
 BV BOUND     x145    
 BV BOUND     x147    
 BV BOUND     x149    
 BV BOUND     x151    
 BV BOUND     x153    
 BV BOUND     x155    
 BV BOUND     x157    
 BV BOUND     x159    
 BV BOUND     x160    
 BV BOUND     x161    
 BV BOUND     x163    
 BV BOUND     x164    
 BV BOUND     x165    
 BV BOUND     x167    
 BV BOUND     x168    
 BV BOUND     x169    
 BV BOUND     x171    
 BV BOUND     x172    
 BV BOUND     x173    
 BV BOUND     x175    
 BV BOUND     x176    
 BV BOUND     x177    
 BV BOUND     x179    
 BV BOUND     x180    
 BV BOUND     x181    
 BV BOUND     x183    
 BV BOUND     x184    
 BV BOUND     x186    
 BV BOUND     x187    
 BV BOUND     x189    
 BV BOUND     x190    
 BV BOUND     x192    
 BV BOUND     x193    
 BV BOUND     x195    
 BV BOUND     x196    
 BV BOUND     x198    
 BV BOUND     x199    
 UI BOUND     x257      2
 UI BOUND     x259      2
 UI BOUND     x262      2
 UI BOUND     x264      2
 UI BOUND     x266      2
 UI BOUND     x268      2
 UI BOUND     x270      2
 UI BOUND     x272      2
 UI BOUND     x274      2
 UI BOUND     x276      2
 UI BOUND     x278      2
 UI BOUND     x280      2
 UI BOUND     x282      2
 UI BOUND     x284      2
 BV BOUND     x316    
 BV BOUND     x317    
 BV BOUND     x319    
 BV BOUND     x320    
 BV BOUND     x322    
 BV BOUND     x323    
 BV BOUND     x325    
 BV BOUND     x326    
 BV BOUND     x328    
 BV BOUND     x329    
 BV BOUND     x331    
 BV BOUND     x332    
 BV BOUND     x334    
 BV BOUND     x335    
 BV BOUND     x337    
 BV BOUND     x338    
 BV BOUND     x340    
 BV BOUND     x341    
 BV BOUND     x343    
 BV BOUND     x344    
 BV BOUND     x346    
 BV BOUND     x347    
 BV BOUND     x349    
 BV BOUND     x350    
 BV BOUND     x364    
 BV BOUND     x365    
 BV BOUND     x367    
 BV BOUND     x368    
 BV BOUND     x370    
 BV BOUND     x371    
 BV BOUND     x373    
 BV BOUND     x374    
 BV BOUND     x376    
 BV BOUND     x377    
 BV BOUND     x379    
 BV BOUND     x380    
 BV BOUND     x382    
 BV BOUND     x384    
 BV BOUND     x386    
 BV BOUND     x388    
 BV BOUND     x390    
 BV BOUND     x392    
 BV BOUND     x394    
 BV BOUND     x395    
 BV BOUND     x397    
 BV BOUND     x398    
 BV BOUND     x400    
 BV BOUND     x401    
 BV BOUND     x403    
 BV BOUND     x404    
 BV BOUND     x406    
 BV BOUND     x407    
 BV BOUND     x409    
 BV BOUND     x410    
 BV BOUND     x412    
 BV BOUND     x414    
 BV BOUND     x416    
 BV BOUND     x418    
 BV BOUND     x420    
 BV BOUND     x422    
 BV BOUND     x424    
 BV BOUND     x426    
 BV BOUND     x428    
 BV BOUND     x430    
 BV BOUND     x432    
 BV BOUND     x434    
 BV BOUND     x499    
 BV BOUND     x501    
 BV BOUND     x503    
 BV BOUND     x505    
 BV BOUND     x507    
 BV BOUND     x509    
ENDATA
